"""The geometry of the charts of a report's page: paths, lanes and ticks, as integers in small units."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apportion_runtime.sim.report.number_format import lasting
from apportion_runtime.sim.report.report import WorkloadReport
from apportion_runtime.sim.report.steps import Steps, thinned
from apportion_runtime.sim.report.summary import NOT_ARRIVED

WIDTH = 10_000
"""The width of a simulation, in units."""
HEIGHT = 1_000
"""The height of the largest value of a chart, in units."""
_MOST_STEPS = 120
_MOST_WAITING_LANES = 600
_TALL, _SHORT, _PAGE = 16.0, 1.0, 900.0
_NARROWEST = 12
_TICKS_S = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000)
_MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of the time axis: its position from 0 to 100, and its label."""

    percent: float
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A workload in its lane: its number in the report, the path of its runs, and the position of a label."""

    number: int
    path: str
    top: float
    percent: float


@dataclass(frozen=True, slots=True)
class Lanes:
    """The workloads of a queue in lanes; workloads that do not overlap share a lane."""

    queue: str
    n_workloads: int
    height: float
    lane: float
    bars: tuple[Bar, ...]
    waits: str
    evictions: str
    n_evictions: int


def ticks(until_s: float) -> list[Tick]:
    """Return round times along an axis."""
    if until_s <= 0:
        return []
    step = next((size for size in _TICKS_S if until_s / size <= _MOST_TICKS), math.ceil(until_s / _MOST_TICKS))
    return [
        Tick(round(100 * at / until_s, 3), lasting(at) if at else "0")
        for at in (number * step for number in range(int(until_s // step) + 1))
        if at <= until_s * 0.97 or not at
    ]


def line(steps: Steps, until_s: float, top: float) -> str:
    """Return the path of values over time, each held until the next; `top` is the value at the upper edge."""
    drawn = _drawn(steps, until_s, top)
    if not drawn:
        return ""
    found = [f"M{drawn[0][0]} {drawn[0][1]}"]
    for x, y in drawn[1:]:
        found.append(f"H{x}V{y}")
    return "".join(found) + f"H{WIDTH}"


def filled(steps: Steps, until_s: float, top: float) -> str:
    """Return the path of `line`, closed to an area down to zero."""
    drawn = _drawn(steps, until_s, top)
    if not drawn:
        return ""
    found = [f"M{drawn[0][0]} {HEIGHT}V{drawn[0][1]}"]
    for x, y in drawn[1:]:
        found.append(f"H{x}V{y}")
    return "".join(found) + f"H{WIDTH}V{HEIGHT}Z"


def _drawn(steps: Steps, until_s: float, top: float) -> list[tuple[int, int]]:
    if until_s <= 0 or top <= 0:
        return []
    return [
        (round(WIDTH * at / until_s), round(HEIGHT * (1 - min(1.0, max(0.0, value) / top))))
        for at, value in thinned(steps, until_s, _MOST_STEPS)
    ]


def draw_lanes(
    queues: Sequence[str], workloads: Sequence[WorkloadReport], until_s: float
) -> tuple[tuple[Lanes, ...], bool]:
    """Return the lanes of every queue that has workloads, and whether waits are drawn."""
    own: dict[str, list[tuple[int, WorkloadReport]]] = {name: [] for name in queues}
    for number, workload in enumerate(workloads):
        if workload.outcome != NOT_ARRIVED:
            own.setdefault(workload.queue, []).append((number, workload))
    taken = {name: found for name, found in own.items() if found}
    shows_waits = True
    packed = {name: _packed(found, until_s, with_waits=True) for name, found in taken.items()}
    if sum(n_lanes for _, n_lanes in packed.values()) > _MOST_WAITING_LANES:
        shows_waits = False
        packed = {name: _packed(found, until_s, with_waits=False) for name, found in taken.items()}
    n_lanes = sum(number for _, number in packed.values())
    lane = min(_TALL, max(_SHORT, _PAGE / max(1, n_lanes)))
    return tuple(
        _lanes(
            name,
            taken[name],
            lane_of=lane_of,
            n_lanes=own_lanes,
            lane=lane,
            until_s=until_s,
            with_waits=shows_waits,
        )
        for name, (lane_of, own_lanes) in packed.items()
    ), shows_waits


def _packed(
    workloads: Iterable[tuple[int, WorkloadReport]], until_s: float, *, with_waits: bool
) -> tuple[dict[int, int], int]:
    """Return the lane of each workload, the first that is free when it arrives, and the number of lanes."""
    found: dict[int, int] = {}
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    spans = sorted((*_span(workload, until_s, with_waits=with_waits), number) for number, workload in workloads)
    n_lanes = 0
    for since, until, number in spans:
        while busy and busy[0][0] <= since:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, n_lanes = n_lanes, n_lanes + 1
        found[number] = lane
        heapq.heappush(busy, (max(until, since + until_s / WIDTH * _NARROWEST), lane))
    return found, n_lanes


def _span(workload: WorkloadReport, until_s: float, *, with_waits: bool) -> tuple[float, float]:
    ends = [until for _, until in workload.runs]
    begins = [since for since, _ in workload.runs]
    if with_waits or not workload.runs:
        begins.append(workload.arrived_s)
    if with_waits:
        ends += [until_s if until is None else until for _, until in workload.waits]
    return min(begins), max(ends, default=workload.arrived_s)


def _lanes(
    queue: str,
    workloads: Sequence[tuple[int, WorkloadReport]],
    *,
    lane_of: dict[int, int],
    n_lanes: int,
    lane: float,
    until_s: float,
    with_waits: bool,
) -> Lanes:
    bars: list[Bar] = []
    waits: list[str] = []
    evictions: list[str] = []
    scale = WIDTH / until_s if until_s > 0 else 0.0
    thickness = lane * 0.8 if lane > 3 else lane
    for number, workload in workloads:
        top = lane_of[number] * lane
        middle = _short(top + thickness / 2)
        paths = []
        for since, until in workload.runs:
            x = round(since * scale)
            width = max(_NARROWEST, round(until * scale) - x)
            paths.append(f"M{x} {_short(top)}h{width}v{_short(thickness)}h-{width}z")
        if with_waits:
            for since, until_or_none in workload.waits:
                until = until_s if until_or_none is None else until_or_none
                waits.append(f"M{round(since * scale)} {middle}H{round(until * scale)}")
        evictions += [f"M{round(at * scale)} {middle}h0" for at in workload.evicted_s]
        first = workload.runs[0][0] if workload.runs else workload.arrived_s
        bars.append(Bar(number, "".join(paths), top, 100 * first / until_s if until_s > 0 else 0.0))
    return Lanes(
        queue, len(workloads), max(lane, n_lanes * lane), lane, tuple(bars), "".join(waits), "".join(evictions),
        len(evictions),
    )  # fmt: skip


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
