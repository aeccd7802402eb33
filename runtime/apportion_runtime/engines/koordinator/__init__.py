"""Koordinator: the division of a cluster by its elastic quotas. Its scheduler is not simulated."""
