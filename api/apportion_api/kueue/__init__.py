"""Kueue's objects, v1beta1 and v1beta2, and its manager's configuration. Source: apis/kueue at ff69552e79 (v0.19)."""
