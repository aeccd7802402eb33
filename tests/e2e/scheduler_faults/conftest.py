"""One control plane with KAI's definitions for all faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects

from ..conftest import bare_plane
from ..definitions import install_definitions, upstream_definitions
from .api_client import ApiClient
from .fault_bed import ACCOUNT, SYSTEM, FaultBed, check_process
from .fault_proxy import fault_proxy, none
from .gangs import create_cluster, remove_gangs

_ACCOUNT_KINDS = frozenset(
    ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
)


@pytest.fixture(scope="session")
def shared_bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultBed]:
    folder = tmp_path_factory.mktemp("faults")
    with bare_plane(request, folder) as plane:
        install_definitions(plane.kubectl, [path for path in upstream_definitions() if path.parent.name == "kai"])
        packaged = SchedulerDeployment("apportion:test")
        assert packaged.namespace == SYSTEM
        account = [one for one in scheduler_objects(packaged) if one["kind"] in _ACCOUNT_KINDS]
        answer = plane.kubectl.apply_objects(account)
        assert answer.accepted, answer.said
        token = plane.kubectl.must("create", "token", ACCOUNT, f"--namespace={SYSTEM}").out.strip()
        with fault_proxy(plane) as proxy:
            bed = FaultBed(plane, ApiClient(plane), proxy, token, folder)
            create_cluster(bed.api)
            try:
                yield bed
            finally:
                bed.stop_shared()
                bed.api.close()


@pytest.fixture
def bed(shared_bed: FaultBed) -> Iterator[FaultBed]:
    """The bed without gangs, before and after each test."""
    shared_bed.proxy.fault = none
    try:
        yield shared_bed
    finally:
        shared_bed.proxy.fault = none
        shared_bed.proxy.flow.set()
        shared_bed.proxy.stalled = ""
        remove_gangs(shared_bed.api)


@pytest.fixture
def shared(bed: FaultBed) -> Iterator[FaultBed]:
    """The bed with the shared scheduler, which must still be the same process after the test, without a traceback."""
    scheduler = bed.scheduler
    scheduler.forget()
    yield bed
    check_process(scheduler)
    assert bed.scheduler is scheduler
