"""LimitRanges of a queue's namespaces: field names, and the LimitRange that accompanies a quota on cpu or memory."""

from __future__ import annotations

LIMIT_RANGE = "apportion"
LIMIT_RANGE_FIELDS = {"defaultRequest": "default_request", "default": "default_limit", "min": "min", "max": "max"}
"""Fields of a LimitRange item, by the policy's names for them."""
DEFAULT_REQUESTS = {"requests.cpu": ("cpu", "100m"), "requests.memory": ("memory", "256Mi")}
"""Defaults for containers without requests, which a quota on the resource would reject.

None for GPUs: every sidecar would get one.
"""
