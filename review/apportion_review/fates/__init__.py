"""Fates of running work: whether a workload of a snapshot may be evicted under the base's and the head's quotas."""
