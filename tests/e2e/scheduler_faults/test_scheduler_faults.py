"""The live scheduler when its requests fail: it goes back to work, and the invariants hold on the API server's state.

Each fault begins when a part of the gangs is bound, and other gangs are created while it lasts.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from ..live_scheduler import until
from .fault_bed import FaultBed
from .fault_proxy import PASS, Fault, FaultProxy, Reaction, Request, none
from .gangs import Gang

pytestmark = pytest.mark.e2e

BEFORE = (Gang("before-0", 4, 2), Gang("before-1", 8, 1))
DURING = (Gang("during-0", 8, 2), Gang("during-1", 6, 2), Gang("during-2", 5, 4), Gang("during-3", 3, 8))
TIGHT = tuple(Gang(f"tight-{number}", 4, 4, "tight") for number in range(3))
"""The limit of their queue allows one."""
AFTER = Gang("after", 4, 8)
_LASTS_S = 2.0
_SLOW_S = 11.0
"""Longer than the renew deadline."""

Injection = Callable[[FaultBed], AbstractContextManager[None]]


@contextlib.contextmanager
def _injected(bed: FaultBed, fault: Fault) -> Iterator[None]:
    """Inject a fault during the block, which must affect a request."""
    n_before = bed.proxy.n_injected
    bed.proxy.fault = fault
    try:
        yield
        # On a slow machine, the pods may be created after the time of the fault.
        until(lambda: bed.proxy.n_injected, lambda found: found > n_before)
    finally:
        bed.proxy.fault = none


def _requests(fault: Fault) -> Injection:
    return lambda bed: _injected(bed, fault)


def _every_third_write(reaction: Reaction) -> Injection:
    numbers, lock = itertools.count(1), threading.Lock()

    def fault(request: Request) -> Reaction:
        if not request.is_write:
            return PASS
        with lock:
            return reaction if next(numbers) % 3 == 0 else PASS

    return _requests(fault)


def _ended_watches(end: Callable[[FaultProxy], int], of_watch: Reaction, of_read: Reaction = PASS) -> Injection:
    """End all watches, and react to those that are opened again, and to other reads, while the fault lasts."""

    @contextlib.contextmanager
    def inject(bed: FaultBed) -> Iterator[None]:
        def fault(request: Request) -> Reaction:
            if request.method != "GET":
                return PASS
            return of_watch if request.is_watch else of_read

        with _injected(bed, fault):
            assert end(bed.proxy) > 0
            yield

    return inject


def _any(seed: int) -> Injection:
    """Any fault on every third request, whatever it is; watches end, and are opened again."""
    generator, lock = random.Random(seed), threading.Lock()

    @contextlib.contextmanager
    def inject(bed: FaultBed) -> Iterator[None]:
        def fault(_: Request) -> Reaction:
            with lock:
                return generator.choice(_REACTIONS) if generator.random() < 1 / 3 else PASS

        with _injected(bed, fault):
            for _ in range(3):
                bed.proxy.drop_watches()
                time.sleep(0.3)
                bed.proxy.expire_watches()
                time.sleep(0.3)
            yield

    return inject


_PAGE = Reaction(200, "OK", page=b"<html>no upstream</html>\n")
_REACTIONS = (
    Reaction(409, "Conflict"),
    Reaction(410, "Expired"),
    Reaction(429, "TooManyRequests", {"Retry-After": "1"}),
    Reaction(500, "InternalError"),
    Reaction(504, "Timeout"),
    Reaction(is_lost=True),
    Reaction(delay_s=0.5),
    _PAGE,
)

REQUESTS: dict[str, tuple[Injection, float]] = {
    "conflict on every third write": (_every_third_write(Reaction(409, "Conflict")), _LASTS_S),
    "429 with Retry-After on every third write": (
        _every_third_write(Reaction(429, "TooManyRequests", {"Retry-After": "1"})),
        _LASTS_S,
    ),
    "500 on every third write": (_every_third_write(Reaction(500, "InternalError")), _LASTS_S),
    "every third response to a write is lost": (_every_third_write(Reaction(is_lost=True)), _LASTS_S),
    "429 with Retry-After on all requests": (
        _requests(lambda _: Reaction(429, "TooManyRequests", {"Retry-After": "1"})),
        _LASTS_S,
    ),
    "answers after 5 s": (
        _requests(lambda request: PASS if request.is_watch else Reaction(delay_s=5.0)),
        _SLOW_S,
    ),
    "watches dropped": (_ended_watches(FaultProxy.drop_watches, Reaction(503, "ServiceUnavailable")), _LASTS_S),
    "watches expired (410)": (_ended_watches(FaultProxy.expire_watches, Reaction(410, "Expired")), _LASTS_S),
    "pages of a load balancer": (_ended_watches(FaultProxy.drop_watches, _PAGE, _PAGE), _LASTS_S),
    "503 on all reads, watches dropped": (
        _ended_watches(
            FaultProxy.drop_watches, Reaction(503, "ServiceUnavailable"), Reaction(503, "ServiceUnavailable")
        ),
        _LASTS_S,
    ),
    "any fault on every third request": (_any(1), 2 * _LASTS_S),
}


@pytest.mark.parametrize(("inject", "lasts_s"), REQUESTS.values(), ids=REQUESTS.keys())
def test_scheduler_goes_back_to_work_after(inject: Injection, lasts_s: float, shared: FaultBed) -> None:
    shared.create(*BEFORE)
    shared.wait_bound(*BEFORE)
    with inject(shared):
        shared.create(*DURING, *TIGHT)
        shared.check_for(lasts_s)
    state = shared.wait_bound(*BEFORE, *DURING, any_of=TIGHT)
    assert len(state.bound_gangs() & {gang.name for gang in TIGHT}) == 1
    shared.create(AFTER)
    shared.wait_bound(*BEFORE, *DURING, AFTER)
