"""The usable amount of a queue in a reused session: it follows the requests of the queue's siblings."""

from __future__ import annotations

from apportion_runtime.core.resources import GPU
from apportion_runtime.core.shares import Shares
from apportion_runtime.core.snapshot import Queue, QueueResource

GPUS = QueueResource(quota=0.0, limit=-1.0, weight=1.0)


def _counted(held: float, waiting: float) -> tuple[float, ...]:
    return (0.0, 0.0, held, 0.0, 0.0, 0.0, 0.0, 0.0, waiting)


def test_share_shrinks_as_sibling_demand_grows() -> None:
    shares = Shares([Queue("vision", None, gpu=GPUS), Queue("speech", None, gpu=GPUS)])
    shares.total = (0.0, 0.0, 8.0)
    shares.recount({"vision": _counted(8, 0)})
    shares.divide(0.0)
    vision = shares.queues["vision"]
    assert (vision.fair[GPU], vision.allocatable[GPU]) == (8, 8)
    # The totals of vision did not change, so that it is not reset: only its fair share changes.
    shares.recount({"vision": _counted(8, 0), "speech": _counted(0, 8)})
    shares.divide(0.0)
    assert (vision.fair[GPU], vision.allocatable[GPU]) == (4, 4)
