"""The live scheduler when the API server or etcd is killed in the middle of binds, and started again."""

from __future__ import annotations

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

_PARTS: dict[str, Callable[[FaultBed], Restartable]] = {
    "API server": lambda bed: bed.plane.server,
    "etcd": lambda bed: bed.plane.etcd,
}


@pytest.mark.parametrize("part", _PARTS.values(), ids=_PARTS.keys())
def test_scheduler_goes_back_to_work_after_a_restart_of(part: Callable[[FaultBed], Restartable], bed: FaultBed) -> None:
    bed.stop_shared()
    with bed.started_directly() as scheduler:
        bed.create(BEFORE)
        bed.wait_bound(BEFORE, by=scheduler)
        bed.create(*DURING)
        restarted = part(bed)
        restarted.kill()
        time.sleep(_DOWN_S)
        restarted.start()
        bed.plane.wait_until_ready()
        bed.wait_bound(BEFORE, *DURING, by=scheduler)
        bed.create(AFTER)
        bed.wait_bound(BEFORE, *DURING, AFTER, by=scheduler)
        check_process(scheduler)
