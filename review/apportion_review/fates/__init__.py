"""Fates of running work: whether a workload of a snapshot may be evicted under the quotas of base and head."""
