"""The control planes of the session: one with the upstream CRDs and no engine, one with Kueue."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer

from .compiled_trees import Tree
from .control_plane import ControlPlane, control_plane
from .definitions import install_definitions, upstream_definitions
from .distribution import GroupScheduling, sort_by_group
from .kubectl import Kubectl
from .kueue_manager import install, manager
from .live_scheduler import packaged_account, scheduled_cluster
from .processes import NotReady

_FOLDER = Path(__file__).parent
BINARIES = "APPORTION_E2E_BIN"
KUEUE = "APPORTION_E2E_KUEUE"
KWOK = "APPORTION_E2E_KWOK"
KUBERAY = "APPORTION_E2E_KUBERAY"
_ENGINE_NAMESPACES = ("kai-scheduler", "koordinator-system", "kube-queue", "volcano-system", "yunikorn")
"""Namespaces created by an engine's installation, in which a tree may write configuration."""
_LOGS = pytest.StashKey[list[Path]]()
"""The folders with the logs of this process's control planes."""


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    _end_in_order()
    return GroupScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if all(item.path.is_relative_to(_FOLDER) for item in items):
        sort_by_group(items)


def _end_in_order() -> None:
    """Let pytest stop the processes that it started on SIGTERM, as on a keyboard interrupt."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say in the report of a failed test where the logs are."""
    report = yield
    if report.failed:
        logs = "\n".join(f"{folder}/*.log" for folder in item.config.stash.get(_LOGS, []))
        report.sections.append(("logs of the control planes", logs))
    return report


def binaries(variable: str) -> Path:
    """Return the folder of programs that run.sh built; raise NotReady if it did not run."""
    folder = os.environ.get(variable)
    if folder is None:
        raise NotReady(f"{variable} is not set: run `make e2e`, which builds what it names")
    return Path(folder)


@contextlib.contextmanager
def bare_plane(request: pytest.FixtureRequest, folder: Path) -> Iterator[ControlPlane]:
    """Yield a control plane without CRDs, whose logs stay."""
    _end_in_order()
    request.config.stash.setdefault(_LOGS, []).append(folder)
    try:
        with control_plane(binaries(BINARIES), folder) as plane:
            yield plane
    except NotReady as problem:
        # The report has the location of the logs.
        request.session.shouldstop = "the control plane did not start"
        raise pytest.fail.Exception(str(problem), pytrace=False) from None
    finally:
        shutil.rmtree(folder / "etcd", ignore_errors=True)


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with every upstream CRD established, and no engine."""
    with bare_plane(request, tmp_path_factory.mktemp("control-plane")) as plane:
        install_definitions(plane.kubectl, upstream_definitions())
        for name in _ENGINE_NAMESPACES:
            plane.kubectl.must("create", "namespace", name)
        yield plane


KueueWith = Callable[[Mapping[str, Any]], Kubectl]


@pytest.fixture(scope="session")
def kueue_with(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KueueWith]:
    """A control plane of its own where Kueue runs, its webhooks included; called with a part of its configuration.

    The manager is started anew where it runs with another. What comes back is the administrator's kubectl.
    """
    folder = tmp_path_factory.mktemp("kueue-control-plane")
    others = [path for path in upstream_definitions() if path.parent.name != "kueue"]
    with bare_plane(request, folder) as plane, contextlib.ExitStack() as process:
        install_definitions(plane.kubectl, others)
        kueue = install(plane, binaries(KUEUE))
        runs_with: list[Mapping[str, Any]] = []

        def kubectl_with(fragment: Mapping[str, Any]) -> Kubectl:
            if runs_with != [fragment]:
                process.close()
                runs_with[:] = []
                process.enter_context(manager(kueue, fragment))
                runs_with[:] = [fragment]
            return plane.kubectl

        yield kubectl_with


@pytest.fixture(scope="session")
def cluster_for(request: pytest.FixtureRequest) -> Callable[[Sequence[Tree]], Kubectl]:
    """Return what gives trees the control plane for them: where Kueue runs, set as they ask, or else without an engine."""

    def kubectl_for(trees: Sequence[Tree]) -> Kubectl:
        for tree in trees:
            if tree.target == "kueue":
                kueue: KueueWith = request.getfixturevalue("kueue_with")
                return kueue(tree.manager_configuration())
        kubectl: Kubectl = request.getfixturevalue("kubectl")
        return kubectl

    return kubectl_for


@pytest.fixture(scope="session")
def kubectl(plane: ControlPlane) -> Kubectl:
    """The administrator's kubectl."""
    return plane.kubectl


@pytest.fixture
def cluster(kubectl: Kubectl) -> Iterator[Kubectl]:
    """The administrator's kubectl, with the queues and the node of the live scheduler."""
    with scheduled_cluster(kubectl) as made:
        yield made


@pytest.fixture
def access(plane: ControlPlane, kubectl: Kubectl) -> Iterator[Path]:
    """The kubeconfig of the packaged service account of the live scheduler."""
    with packaged_account(plane, kubectl) as made:
        yield made
