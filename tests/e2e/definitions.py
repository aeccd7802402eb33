"""The upstream CRDs, installed on a control plane."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from .kubectl import Kubectl

_CRDS = Path(__file__).parents[1] / "crds"
_NEVER_INSTALLED = ("*.strict.yaml", "yunikorn/*")
_ESTABLISHED_S = 180


def upstream_definitions() -> tuple[Path, ...]:
    """Return the installable files of tests/crds."""
    return tuple(
        path for path in sorted(_CRDS.glob("*/*.yaml")) if not any(path.match(pattern) for pattern in _NEVER_INSTALLED)
    )


def install_definitions(kubectl: Kubectl, files: Sequence[Path]) -> None:
    """Install definitions and wait until each is established."""
    # The upstream CRDs are 6 MB in size, and the API server validates them: kubectl's validation is skipped.
    kubectl.must("create", "--validate=false", *(argument for file in files for argument in ("-f", file)))
    wait_until_served(kubectl)


def served_definitions(kubectl: Kubectl) -> dict[str, bool]:
    """Return whether each installed CRD is established with its requested names."""
    served = {}
    for item in kubectl.get("customresourcedefinitions")["items"]:
        # The list is null until the first condition is set.
        holds = {one["type"]: one["status"] == "True" for one in item["status"].get("conditions") or ()}
        served[item["metadata"]["name"]] = all(holds.get(type_, False) for type_ in ("Established", "NamesAccepted"))
    return served


def wait_until_served(kubectl: Kubectl) -> None:
    """Return when every installed definition is established."""
    deadline = time.monotonic() + _ESTABLISHED_S
    while not all((served := served_definitions(kubectl)).values()):
        assert time.monotonic() < deadline, f"not served: {[name for name, serves in served.items() if not serves]}"
        time.sleep(0.5)
