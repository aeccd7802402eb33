"""LimitRanges of a queue's namespaces: the names of their fields, and the one that accompanies a quota on cpu or memory."""

from __future__ import annotations

LIMIT_RANGE = "apportion"
LIMIT_RANGE_FIELDS = {"defaultRequest": "default_request", "default": "default_limit", "min": "min", "max": "max"}
"""Fields of an item of a LimitRange, with the policy's words for them."""
DEFAULT_REQUESTS = {"requests.cpu": ("cpu", "100m"), "requests.memory": ("memory", "256Mi")}
"""For containers that ask for nothing, which a quota on the resource would refuse. Never a GPU: every sidecar would
take one."""
