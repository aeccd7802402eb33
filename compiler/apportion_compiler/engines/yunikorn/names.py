"""Application ids of what is emitted for YuniKorn; `apportion_api.yunikorn.names` has the names that YuniKorn reads."""

from __future__ import annotations

APP_ID_SEPARATOR = "."
"""No namespace holds it, so that no application of one namespace has the id of another's."""


def application_id(namespace: str, name: str) -> str:
    """Return the application id of a workload: ids of a namespace begin with its name, which admission demands."""
    return f"{namespace}{APP_ID_SEPARATOR}{name}"
