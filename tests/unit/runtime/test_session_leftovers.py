"""What a session keeps of pods and jobs that are gone is bounded."""

from __future__ import annotations

from itertools import pairwise

import pytest

from apportion_runtime.core import session_cache
from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Node, Pod, PodGroup, Queue, QueueResource, Settings, SubGroup

FREE = QueueResource(-1.0, -1.0, 1.0)
MOST = 30


def _add_job(cache: SessionCache, number: int) -> None:
    """Add a job with another request, node selector and queue than any before."""
    name = f"job-{number}"
    root = SubGroup("", None, (SubGroup("default", 1),))
    cache.put_group(PodGroup(name, name, "team", f"queue-{number}", 50, True, 0.0, root))
    request = {"cpu": 1.0 + number, "memory": 1e9, "pods": 1.0}
    selector = {"job": name}
    cache.put_pod(Pod(name, name, "team", name, request=request, gpu=GpuRequest(1, 1.0), node_selector=selector))
    queued = f"queued-{number}"
    cache.put_group(PodGroup(queued, queued, "team", "team", 50, True, 0.0, root))
    cache.put_pod(Pod(queued, queued, "team", queued, request=request, gpu=GpuRequest(1, 1.0), node_selector=selector))


def test_new_session_is_opened_once_most_of_a_session_belongs_to_removed_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_cache, "MOST_LEFTOVERS", MOST)
    node = Node("n1", {"cpu": 64_000.0, "memory": 5e11, "gpu": 8.0, "pods": 110.0}, n_gpus=8)
    cache = SessionCache(Settings(), ClusterInfo((node,), (Queue("team", None, FREE, FREE, FREE),)))
    counts: list[int] = []
    for number in range(100):
        _add_job(cache, number)
        if number > 3:
            cache.drop_group(f"job-{number - 4}")
            cache.drop_group(f"queued-{number - 4}")
        session = cache.open(float(number))
        run_actions(session)
        counts.append(session.n_distinct)
    assert max(counts) <= MOST + 60
    # It is not replaced in every cycle.
    n_new = sum(after < before for before, after in pairwise(counts))
    assert 2 <= n_new <= 10
