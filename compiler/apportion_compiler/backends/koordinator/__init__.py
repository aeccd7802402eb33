"""Koordinator: a tree of ElasticQuotas."""
