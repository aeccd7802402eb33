"""One real control plane for the session, with the upstream definitions installed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .control_plane import ControlPlane, control_plane
from .kubectl import Kubectl
from .processes import NotReady

_CRDS = Path(__file__).parents[1] / "crds"
_NEVER_INSTALLED = ("*.strict.yaml", "yunikorn/*")
_BINARIES = "APPORTION_E2E_BIN"
_ESTABLISHED_S = 60


def upstream_definitions() -> tuple[Path, ...]:
    """Return the files of tests/crds that may be installed."""
    return tuple(
        path for path in sorted(_CRDS.glob("*/*.yaml")) if not any(path.match(pattern) for pattern in _NEVER_INSTALLED)
    )


@pytest.fixture(scope="session")
def bare_plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with nothing installed; its logs are kept, and named, when a test failed."""
    binaries = os.environ.get(_BINARIES)
    if binaries is None:
        pytest.exit(f"{_BINARIES} is not set: run `make e2e`, which builds the control plane", returncode=1)
    # Asked to end, pytest stops what it started, as it does when it is interrupted from the keyboard.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    folder = tmp_path_factory.mktemp("control-plane")
    try:
        with control_plane(Path(binaries), folder) as plane:
            yield plane
    except NotReady as problem:
        pytest.exit(f"{problem}\nlogs: {folder}/*.log", returncode=1)
    finally:
        shutil.rmtree(folder / "etcd", ignore_errors=True)
        if request.session.testsfailed:
            capture = request.config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                request.config.get_terminal_writer().line(f"\nlogs of the control plane: {folder}/*.log")


@pytest.fixture(scope="session")
def plane(bare_plane: ControlPlane) -> ControlPlane:
    """A control plane with every upstream definition established."""
    kubectl, files = bare_plane.kubectl, upstream_definitions()
    # They are upstream's, six megabytes, and the API server judges them anyway: no second check by kubectl.
    kubectl.must("create", "--validate=false", *(argument for file in files for argument in ("-f", file)))
    deadline = time.monotonic() + _ESTABLISHED_S
    while (n_served := list(served_definitions(kubectl).values()).count(True)) < len(files):
        assert time.monotonic() < deadline, f"{n_served} of {len(files)} definitions are served"
        time.sleep(0.5)
    return bare_plane


def served_definitions(kubectl: Kubectl) -> dict[str, bool]:
    """Return, for each installed definition, whether it is established under the names that it asked for."""
    served = {}
    for item in kubectl.get("customresourcedefinitions")["items"]:
        # The list is null until the first condition is known.
        holds = {one["type"]: one["status"] == "True" for one in item["status"].get("conditions") or ()}
        served[item["metadata"]["name"]] = all(holds.get(type_, False) for type_ in ("Established", "NamesAccepted"))
    return served


@pytest.fixture(scope="session")
def kubectl(plane: ControlPlane) -> Kubectl:
    """The administrator's kubectl."""
    return plane.kubectl
