"""A job whose eviction was refused is not a victim; once its delay ends, it is one again, also if nothing else changed."""

from __future__ import annotations

from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.explain.evictions import evictions
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Settings

from .clusters import NOW, job, node, queue


def test_protection_ends_without_a_change_of_a_job() -> None:
    cache = SessionCache(Settings(), ClusterInfo((node("n", 1),), (queue("all"), queue("team", "all", quota=1))))
    for group, pods in (job("low", "team", on="n"), job("high", "team", priority=75)):
        cache.put_group(group)
        for pod in pods:
            cache.put_pod(pod)

    def evicted(after_s: float, *protected: str) -> list[str]:
        session = cache.open(NOW + after_s)
        session.protect(protected)
        run_actions(session)
        return [made.name for made in evictions(session)]

    assert [evicted(0, "low"), evicted(1, "low"), evicted(2)] == [[], [], ["team/low-0"]]
