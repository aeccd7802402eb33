"""Alibaba Cloud ACK: one ElasticQuotaTree, and kube-queue in front of it."""
