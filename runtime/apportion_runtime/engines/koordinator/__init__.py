"""Koordinator: how its elastic quotas divide a cluster. It has no simulated scheduler."""
