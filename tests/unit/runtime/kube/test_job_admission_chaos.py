"""Whatever fails and whoever else changes the jobs, no limit is exceeded, and every job is released in the end."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .ack_objects import JOBS, TREE, job
from .admitted_jobs import admitting, change, complete, events
from .api_server import ApiServer, Object, Rejection, Sent
from .scheduler_thread import until

LIMITS = {"video": 14, "intern": 8}
N_JOBS = 24
LAG_S = 0.3


def _is_running(one: Object) -> bool:
    return not one["spec"].get("suspend") and not (one.get("status") or {}).get("conditions")


def _cores(one: Object) -> int:
    spec = one["spec"]
    requests = spec["template"]["spec"]["containers"][0]["resources"]["requests"]
    return int(requests["cpu"]) * int(spec["parallelism"])


class Observed(ApiServer):
    """Records the use of each quota that exceeds its limit, after every change. Its watches are behind."""

    def __init__(self) -> None:
        super().__init__()
        self.exceeded: list[str] = []
        self._changed_s: dict[int, float] = {}

    def events(self, plural: str, after: int) -> Iterator[tuple[int, str, Object]]:
        for version, event, made in super().events(plural, after):
            time.sleep(max(0.0, self._changed_s.get(version, 0.0) + LAG_S - time.monotonic()))
            yield version, event, made

    def put(self, path: str, made: Object, event: str = "ADDED") -> Object:
        stored = super().put(path, made, event)
        self._changed_s[int(stored["metadata"]["resourceVersion"])] = time.monotonic()
        if "/jobs/" in path:
            with self.changed:
                self._check_limits(path)
        return stored

    def _check_limits(self, changed: str) -> None:
        for namespace, limit in LIMITS.items():
            running = [one for at, one in self.held.items() if f"/namespaces/{namespace}/jobs/" in at]
            used = sum(_cores(one) for one in running if _is_running(one))
            if used > limit:
                self.exceeded.append(f"{namespace}: {used}, by {changed}")


def _faults(
    server: Observed, draw: random.Random, is_faulty: Callable[[], bool], lost: set[str]
) -> Callable[[Sent], Rejection | None]:
    """Return how the server answers: some writes fail, of which some have had their effect; their jobs are added to `lost`."""

    def answer(sent: Sent) -> Rejection | None:
        is_write = sent.method == "PATCH" or sent.path.endswith("/queueunits")
        if not is_write or not is_faulty() or draw.random() > 0.3:
            return None
        status = draw.choice((409, 422, 429, 503, 504, 0))
        if status in (504, 0) and draw.random() < 0.5:
            with server.changed:
                server._handle(sent)
            lost.add(sent.path.rsplit("/", 1)[-1])
        return Rejection(status, "a fault")

    return answer


def _disturb(server: Observed, draw: random.Random, names: dict[str, str]) -> None:
    """Have another client change, complete or suspend a job."""
    name = draw.choice(list(names))
    path = JOBS.format(names[name], name)
    one = server.held[path]
    match draw.choice(("complete", "suspend", "touch", "grow")):
        case "complete" if _is_running(one):
            complete(server, name, names[name])
        case "suspend" if _is_running(one):
            change(server, path, lambda held: {**held, "spec": {**held["spec"], "suspend": True}})
        case "touch":
            change(server, path, lambda held: {**held, "metadata": {**held["metadata"], "labels": {"n": "1"}}})
        case "grow" if one["spec"]["suspend"]:
            change(server, path, _grown)
        case _:
            return


def _grown(one: Object) -> Object:
    """Return a suspended job with two pods; it may have been released meanwhile."""
    return one if not one["spec"]["suspend"] else {**one, "spec": {**one["spec"], "parallelism": 2}}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_no_limit_is_exceeded_and_no_job_is_lost(seed: int) -> None:
    draw, server, log = random.Random(seed), Observed(), list[str]()
    faulty, lost = [True], set[str]()
    server.answer = _faults(server, random.Random(seed), lambda: bool(faulty), lost)
    names = {f"j{number}": draw.choice(list(LIMITS)) for number in range(N_JOBS)}
    server.add(TREE)
    with admitting(server, log):
        for name, namespace in names.items():
            server.add(job(name, draw.choice((1, 2, 4)), namespace))
            _disturb(server, draw, {known: names[known] for known in names if _path(names, known) in server.held})
            time.sleep(0.05)
        for _ in range(60):
            _disturb(server, draw, names)
            time.sleep(0.05)
        faulty.clear()
        until(lambda: _all_complete(server, names), log, limit_s=180)
        # A job that completes before the scheduler sees the effect of an unanswered release has no event.
        until(lambda: names.keys() - {name for name, _ in events(server, "Dequeued")} <= lost, log)
    assert server.exceeded == []


def _path(names: dict[str, str], name: str) -> str:
    return JOBS.format(names[name], name)


def _all_complete(server: Observed, names: dict[str, str]) -> bool:
    """Complete the jobs that run; return whether all have."""
    found: dict[str, Any] = {name: server.held[_path(names, name)] for name in names}
    for name, one in found.items():
        if _is_running(one):
            complete(server, name, names[name])
    return all((one.get("status") or {}).get("conditions") for one in found.values())
