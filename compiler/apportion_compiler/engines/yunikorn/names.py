"""Application ids of what is emitted for YuniKorn; `apportion_api.yunikorn.names` has the names that YuniKorn reads."""

from __future__ import annotations

APP_ID_SEPARATOR = "."
"""A separator that no namespace contains, so that ids of different namespaces never collide."""


def application_id(namespace: str, name: str) -> str:
    """Return the application id of a workload, which begins with its namespace, as admission requires."""
    return f"{namespace}{APP_ID_SEPARATOR}{name}"
