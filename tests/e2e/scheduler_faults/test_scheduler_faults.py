"""The live scheduler when its requests fail: it goes back to work, and the invariants hold on the API server's state.

Each fault begins when a part of the gangs is bound, and other gangs are created while it lasts.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from .fault_bed import FaultBed
from .fault_proxy import PASS, Fault, Reaction, Request
from .gangs import Gang

pytestmark = pytest.mark.e2e

BEFORE = (Gang("before-0", 4, 2), Gang("before-1", 8, 1))
DURING = (Gang("during-0", 8, 2), Gang("during-1", 6, 2), Gang("during-2", 5, 4), Gang("during-3", 3, 8))
TIGHT = tuple(Gang(f"tight-{number}", 4, 4, "tight") for number in range(3))
"""The limit of their queue allows one."""
AFTER = Gang("after", 4, 8)
_LASTS_S = 3.0

Injection = Callable[[FaultBed], AbstractContextManager[None]]


def _requests(fault: Fault) -> Injection:
    @contextlib.contextmanager
    def inject(bed: FaultBed) -> Iterator[None]:
        bed.proxy.fault = fault
        try:
            yield
        finally:
            bed.proxy.fault = lambda _: PASS

    return inject


def _every_third_write(reaction: Reaction) -> Injection:
    numbers, lock = itertools.count(1), threading.Lock()

    def fault(request: Request) -> Reaction:
        if not request.is_write:
            return PASS
        with lock:
            return reaction if next(numbers) % 3 == 0 else PASS

    return _requests(fault)


def _reads(reaction: Reaction) -> Injection:
    return _requests(lambda request: reaction if request.method == "GET" else PASS)


@contextlib.contextmanager
def _dropped_watches(bed: FaultBed) -> Iterator[None]:
    """All watches are cut, and cannot be opened while the fault lasts."""
    bed.proxy.fault = lambda request: Reaction(503, "ServiceUnavailable") if request.is_watch else PASS
    assert bed.proxy.drop_watches() > 0
    try:
        yield
    finally:
        bed.proxy.fault = lambda _: PASS


@contextlib.contextmanager
def _expired_watches(bed: FaultBed) -> Iterator[None]:
    """The resource versions of all watches are too old: 410 as an event, then as the status of a response."""
    bed.proxy.fault = lambda request: Reaction(410, "Expired") if request.is_watch else PASS
    assert bed.proxy.expire_watches() > 0
    try:
        yield
    finally:
        bed.proxy.fault = lambda _: PASS


REQUESTS: dict[str, Injection] = {
    "conflict on every third write": _every_third_write(Reaction(409, "Conflict")),
    "429 with Retry-After on every third write": _every_third_write(
        Reaction(429, "TooManyRequests", {"Retry-After": "1"})
    ),
    "500 on every third write": _every_third_write(Reaction(500, "InternalError")),
    "every third response to a write is lost": _every_third_write(Reaction(is_lost=True)),
    "429 with Retry-After on all requests": _requests(lambda _: Reaction(429, "TooManyRequests", {"Retry-After": "1"})),
    "answers after 5 s": _requests(lambda request: PASS if request.is_watch else Reaction(delay_s=5.0)),
    "watches dropped": _dropped_watches,
    "watches expired (410)": _expired_watches,
    "503 on all reads": _reads(Reaction(503, "ServiceUnavailable")),
}


@pytest.mark.parametrize("inject", REQUESTS.values(), ids=REQUESTS.keys())
def test_the_scheduler_goes_back_to_work_after(inject: Injection, shared: FaultBed) -> None:
    shared.create(*BEFORE)
    shared.wait_bound(*BEFORE)
    with inject(shared):
        shared.create(*DURING, *TIGHT)
        time.sleep(_LASTS_S)
    state = shared.wait_bound(*BEFORE, *DURING)
    assert len(state.bound_gangs() & {gang.name for gang in TIGHT}) == 1
    shared.create(AFTER)
    shared.wait_bound(*BEFORE, *DURING, AFTER)
