"""The live scheduler when the API server or etcd is killed or hangs while gangs arrive and are bound."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable

import pytest

from ..processes import Restartable
from .cluster_state import read_state
from .fault_bed import LEASE, FaultBed, check_process
from .gangs import Gang
from .held_binds import HeldBind

pytestmark = pytest.mark.e2e

BEFORE = Gang("before", 8, 2)
DURING = (Gang("during-0", 8, 4), Gang("during-1", 6, 2), Gang("during-2", 5, 4))
AFTER = Gang("after", 4, 8)
_DOWN_S = 2.0
_HANGS_S = 6.0
"""Longer than the timeout of a renewal."""


def _restart(part: Restartable) -> None:
    part.kill()
    time.sleep(_DOWN_S)
    part.start()


def _hang(part: Restartable) -> None:
    process = part.running.process
    process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(_HANGS_S)
    finally:
        process.send_signal(signal.SIGCONT)


FAULTS: dict[str, Callable[[FaultBed], None]] = {
    "API server restarted": lambda bed: _restart(bed.plane.server),
    "etcd restarted": lambda bed: _restart(bed.plane.etcd),
    "API server hangs": lambda bed: _hang(bed.plane.server),
}


@pytest.mark.parametrize("inject", FAULTS.values(), ids=FAULTS.keys())
def test_scheduler_goes_back_to_work_after(inject: Callable[[FaultBed], None], bed: FaultBed) -> None:
    bed.stop_shared()
    with bed.started_directly() as scheduler:
        bed.create(BEFORE)
        bed.wait_bound(BEFORE, by=scheduler)
        bed.create(*DURING)
        inject(bed)
        bed.plane.wait_until_ready()
        bed.wait_bound(BEFORE, *DURING, by=scheduler)
        bed.create(AFTER)
        bed.wait_bound(BEFORE, *DURING, AFTER, by=scheduler)
        check_process(scheduler)


def test_api_server_that_restarts_between_two_binds_of_a_gang(bed: FaultBed) -> None:
    held = HeldBind(4)
    bed.stop_shared()
    with bed.started({"leaderElection": {"lease": LEASE}, "writeConcurrency": 1}) as scheduler:
        bed.proxy.fault = held
        bed.create(BEFORE)
        held.wait()
        assert sum(pod.node is not None for pod in read_state(bed.api).pods_of(BEFORE.name)) == 3
        bed.plane.server.kill()
        # The held bind is sent to an API server that does not run.
        held.release()
        time.sleep(_DOWN_S)
        bed.plane.server.start()
        bed.plane.wait_until_ready()
        bed.wait_bound(BEFORE, by=scheduler)
        bed.create(AFTER)
        bed.wait_bound(BEFORE, AFTER, by=scheduler)
        check_process(scheduler)


def test_etcd_restored_from_a_backup(bed: FaultBed) -> None:
    """The API server goes back to the backup: what was created since does not exist, and versions are used again."""
    data, backup = bed.plane.folder / "etcd", bed.plane.folder / "etcd-backup"
    bed.stop_shared()
    with bed.started_directly() as scheduler:
        bed.create(BEFORE)
        bed.wait_bound(BEFORE, by=scheduler)
        bed.plane.etcd.kill()
        shutil.copytree(data, backup)
        bed.plane.etcd.start()
        bed.plane.wait_until_ready()
        bed.create(*DURING)
        bed.wait_bound(BEFORE, *DURING, by=scheduler)
        # The controllers would wait for versions that the backup has not reached; they are not what is tested.
        bed.plane.manager.kill()
        bed.plane.server.kill()
        bed.plane.etcd.kill()
        shutil.rmtree(data)
        backup.rename(data)
        bed.plane.etcd.start()
        bed.plane.server.start()
        bed.plane.wait_until_ready()
        bed.plane.manager.start()
        bed.create(AFTER)
        bed.wait_bound(BEFORE, AFTER, by=scheduler)
        assert all(not read_state(bed.api).pods_of(gang.name) for gang in DURING)
        check_process(scheduler)
