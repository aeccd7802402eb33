"""The Kubernetes client, which is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from apportion_cli.errors import PreconditionError


def require_kubernetes_client() -> None:
    """Raise `PreconditionError` unless the packages of the extra `kube` are installed."""
    if any(find_spec(package) is None for package in ("kubernetes", "prometheus_client")):
        raise PreconditionError(
            "the Kubernetes client is not installed", hint="install it: pip install 'apportion[kube]'"
        )
