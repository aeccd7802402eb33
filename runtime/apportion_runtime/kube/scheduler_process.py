"""The process of the live scheduler: runs cycles while it holds the lease and something changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.garbage_collection import collected_between_cycles
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.lease import DURATION_S, Leadership
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.scheduler import run_cycle

_LISTED_S = 60.0
_RENEW_S = DURATION_S / 3


@dataclass(frozen=True, slots=True)
class Options:
    """How it runs.

    Attributes:
        scheduler: The `schedulerName` of its pods.
        shard: Its SchedulingShard, if there is more than one.
        period_s: The minimum time between the starts of two cycles.
        idle_s: A cycle runs after this time even if nothing changed, since some decisions depend on time.
    """

    scheduler: str
    shard: str | None = None
    period_s: float = 1.0
    idle_s: float = 10.0


def run(
    connection: Connection,
    options: Options,
    leadership: Leadership | None,
    counters: Counters,
    *,
    say: Callable[[str], None],
    ended: Event,
) -> None:
    """Schedule until `ended` is set.

    Args:
        connection: The API server.
        options: How.
        leadership: The lease that must be held; None for a single scheduler.
        counters: Receives the counts.
        say: Writes a line to the log.
        ended: Set by the caller to stop.

    Raises:
        Unreachable: If the API server does not respond at startup.
    """
    cache = ObjectCache(connection)
    cache.start(_LISTED_S)
    counters.is_ready = True
    say("initial list of the cluster complete")
    try:
        with collected_between_cycles() as collect:
            _run_cycles(cache, options, leadership, counters, say=say, ended=ended, collect=collect)
    finally:
        cache.stop()
        if leadership is not None and counters.is_leader:
            leadership.release()


def _run_cycles(
    cache: ObjectCache,
    options: Options,
    leadership: Leadership | None,
    counters: Counters,
    *,
    say: Callable[[str], None],
    ended: Event,
    collect: Callable[[], None],
) -> None:
    renewed = last_cycle = 0.0
    while not ended.is_set():
        now = time.time()
        counters.alive_at = time.monotonic()
        if now - renewed >= _RENEW_S:
            renewed = now
            _lead(leadership, counters, say)
        is_due = cache.changed.is_set() or now - last_cycle >= options.idle_s
        if not counters.is_leader or not is_due or now - last_cycle < options.period_s:
            ended.wait(0.05)
            continue
        last_cycle = now
        cache.changed.clear()
        began = time.monotonic()
        try:
            result = run_cycle(cache, now, scheduler=options.scheduler, shard=options.shard)
        except (Refused, Unreachable) as failed:
            say(f"cycle failed: {failed}")
            continue
        finally:
            collect()
        counters.cycles += 1
        counters.bound += len(result.bound)
        counters.evicted += len(result.evicted)
        counters.refused += len(result.refused)
        counters.waiting = len(set(result.waiting))
        counters.seconds += time.monotonic() - began
        for word, done in (("bound", result.bound), ("evicted", result.evicted), ("write rejected:", result.refused)):
            if done:
                say(f"{word} {', '.join(done)}")


def _lead(leadership: Leadership | None, counters: Counters, say: Callable[[str], None]) -> None:
    was = counters.is_leader
    try:
        counters.is_leader = leadership is None or leadership.is_held(time.time())
    except (Refused, Unreachable) as failed:
        # A scheduler that cannot renew the lease must not schedule: another one may be the leader.
        counters.is_leader = False
        say(f"cannot acquire or renew the lease: {failed}")
    if counters.is_leader != was:
        say("became the leader" if counters.is_leader else "lost leadership")
