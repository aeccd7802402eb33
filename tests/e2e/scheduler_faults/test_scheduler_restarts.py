"""The live scheduler when the API server or etcd is killed or hangs in the middle of binds."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from ..processes import Restartable
from .fault_bed import FaultBed, check_process
from .gangs import Gang

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
