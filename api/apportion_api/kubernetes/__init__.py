"""Kubernetes' own objects, and labels and annotations of device plugins and workload operators."""
