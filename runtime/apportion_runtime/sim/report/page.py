"""The report as a self-contained HTML page.

Numbers come from the report object; this module only lays them out. `chart_geometry.py` has the geometry, `templates/`
the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.report import number_format
from apportion_runtime.sim.report.chart_geometry import draw_lanes, filled, line, ticks
from apportion_runtime.sim.report.report import WAIT_BOUNDS_S, Inputs, Preemption, QueueSeries, Report, WorkloadReport
from apportion_runtime.sim.report.steps import area, highest
from apportion_runtime.sim.report.summary import QueueSummary
from apportion_runtime.sim.report.tree import in_tree

_LABELLED = 150
_DENSE_BELOW = 8.0


@dataclass(frozen=True, slots=True)
class Tile:
    """One number for the whole cluster."""

    key: str
    label: str
    value: float | None
    text: str
    note: str = ""


def html_page(report: Report) -> str:
    """Return the page."""
    until = report.summary.duration_s
    queues = [queue for queue, _ in in_tree(report.summary.queues)]
    order = {queue.name: number for number, queue in enumerate(queues)}
    series = {found.queue: found for found in report.series}
    lanes, shows_waits = draw_lanes(list(order), report.workloads, until)
    widest = max((_top(series[queue.name]) for queue in queues), default=0.0)
    losers = sorted({found.queue for found in report.preemptions}, key=lambda name: order.get(name, -1))
    return environment().get_template("report.html.j2").render(
        title=report.name,
        subtitle=f"{number_format.moment(report.start)}, {number_format.lasting(until)} simulated, "
        f"{counted(report.summary.n_workloads, 'workload')}",
        inputs=list(_inputs(report.inputs)),
        models=[found for found in report.summary.models if found.model or len(report.summary.models) > 1],
        tiles=tiles(report),
        queues=list(_queue_rows(report, series, widest)),
        widest=number_format.devices(widest),
        ticks=ticks(until),
        gantt=lanes,
        shows_waits=shows_waits,
        dense=bool(lanes) and lanes[0].lane < _DENSE_BELOW,
        has_labels=len(report.workloads) <= _LABELLED,
        names=[workload.name for workload in report.workloads],
        charts=list(_charts(queues, series, until)),
        longest=max((queue.wait_p99_s or 0.0 for queue in queues), default=0.0),
        bounds=list(_bounds()),
        waits=list(_wait_rows(report, queues)),
        preemptions=report.preemptions,
        losers=losers,
        matrix=list(_matrix(report.preemptions, losers)),
        most_taken=max((found.n_evictions for found in report.preemptions), default=1),
        data=embedded(_workload_data(report.workloads)),
    )  # fmt: skip


def _inputs(inputs: Inputs) -> Iterator[tuple[str, str]]:
    place = "/".join(part for part in (inputs.environment, inputs.cluster) if part)
    named = (("scenario", inputs.scenario), ("policy", inputs.policy), ("cluster", place), ("engine", inputs.engine))
    yield from ((label, text) for label, text in named if text)
    if inputs.digest:
        yield "object digest", inputs.digest[:12]


def environment() -> Environment:
    """Return the values for the templates."""
    found = Environment(
        loader=PackageLoader("apportion_runtime.sim.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for name in ("amount", "devices", "lasting", "percent", "waited"):
        found.filters[name] = getattr(number_format, name)
    found.filters["counted"] = counted
    return found


def embedded(data: object) -> Markup:
    """Return data as JSON that is valid inside a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    # Nothing in a script element is unescaped, and `</script` or `<!--` would end it or change its meaning.
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - see above.


def tiles(report: Report) -> list[Tile]:
    """Return the numbers of the whole cluster."""
    found = report.summary
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in found.outcomes.items())
    return [
        Tile("utilisation", "utilisation", found.utilisation, number_format.percent(found.utilisation), "of GPU time"),
        Tile(
            "gpu_hours", "GPU-hours", found.gpu_hours, number_format.amount(found.gpu_hours),
            f"of {number_format.amount(found.capacity_gpu_hours)}",
        ),
        Tile(
            "fragmentation", "fragmentation", found.fragmentation, number_format.percent(found.fragmentation) or "none",
            "of free GPU time is too fragmented for any pod in the load",
        ),
        Tile("makespan_s", "makespan", found.makespan_s, number_format.lasting(found.makespan_s)),
        Tile("n_evictions", "evictions", found.n_evictions, f"{found.n_evictions:,}"),
        Tile("lost_gpu_hours", "GPU-hours lost", found.lost_gpu_hours, number_format.amount(found.lost_gpu_hours)),
        Tile("n_workloads", "workloads", found.n_workloads, f"{found.n_workloads:,}", outcomes),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _QueueRow:
    queue: QueueSummary
    depth: int
    mean: float
    peak: float
    fair: float
    quota: float | None
    quota_text: str
    said: str


def _queue_rows(report: Report, series: Mapping[str, QueueSeries], widest: float) -> Iterator[_QueueRow]:
    hours = report.summary.duration_s / 3600

    def percent(gpus: float) -> float:
        return round(min(100.0, 100 * gpus / widest), 2) if widest else 0.0

    for queue, depth in in_tree(report.summary.queues):
        own = series[queue.name]
        mean, fair = (value / hours if hours else 0.0 for value in (queue.gpu_hours, queue.fair_gpu_hours))
        quota = own.quota[-1][1] if own.quota else -1.0
        most, text = highest(own.allocated), number_format.devices(quota) if quota >= 0 else "unlimited"
        said = (
            f"{number_format.devices(mean)} GPUs in use on average, {number_format.devices(most)} at most, "
            f"fair share {number_format.devices(fair)}, quota {text}"
        )
        yield _QueueRow(
            queue, depth, percent(mean), percent(most), percent(fair), percent(quota) if quota >= 0 else None, text, said
        )  # fmt: skip


def _top(series: QueueSeries) -> float:
    """Return the largest value of a queue that its chart shows."""
    return max(highest(series.allocated), highest(series.fair_share), highest(series.quota))


@dataclass(frozen=True, slots=True)
class _Chart:
    queue: str
    top: float
    gpu_hours: float
    fair_gpu_hours: float
    held: str
    edge: str
    fair: str
    quota: str


def _charts(queues: Iterable[QueueSummary], series: Mapping[str, QueueSeries], until: float) -> Iterator[_Chart]:
    for queue in queues:
        own = series[queue.name]
        top = _top(own)
        if not top or not (area(own.allocated, until) or area(own.fair_share, until)):
            continue
        bounded = own.quota if all(value >= 0 for _, value in own.quota) else ()
        yield _Chart(
            queue.name, top, queue.gpu_hours, queue.fair_gpu_hours, filled(own.allocated, until, top),
            line(own.allocated, until, top), line(own.fair_share, until, top), line(bounded, until, top),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _WaitRow:
    queue: str
    counts: tuple[int, ...]
    total: int
    p50: float | None
    p90: float | None
    p99: float | None
    p50_percent: float
    p90_percent: float
    p99_percent: float


def _wait_rows(report: Report, queues: Sequence[QueueSummary]) -> Iterator[_WaitRow]:
    counts = {found.queue: found.counts for found in report.waits}
    longest = max((queue.wait_p99_s or 0.0 for queue in queues), default=0.0) or 1.0
    for queue in queues:
        p50, p90, p99 = queue.wait_p50_s, queue.wait_p90_s, queue.wait_p99_s
        if queue.n_groups:
            yield _WaitRow(
                queue.name, counts[queue.name], queue.n_groups, p50, p90, p99,
                *(round(100 * (value or 0.0) / longest, 2) for value in (p50, p90, p99)),
            )  # fmt: skip


def _bounds() -> Iterator[str]:
    for bound in WAIT_BOUNDS_S:
        yield f"up to {number_format.lasting(bound)}" if bound else "none"
    yield "more"


@dataclass(frozen=True, slots=True)
class _MatrixRow:
    by: str
    cells: list[Preemption | None]


def _matrix(preemptions: Sequence[Preemption], losers: Sequence[str]) -> Iterator[_MatrixRow]:
    found = {(made.by, made.queue): made for made in preemptions}
    for by in sorted({made.by for made in preemptions}):
        yield _MatrixRow(by, [found.get((by, queue)) for queue in losers])


def _workload_data(workloads: Iterable[WorkloadReport]) -> dict[str, Any]:
    names: dict[str, dict[str, int]] = {"kinds": {}, "queues": {}, "outcomes": {}, "reasons": {"": 0}}

    def number(of: str, text: str) -> int:
        return names[of].setdefault(text, len(names[of]))

    rows = []
    for found in workloads:
        rows.append(
            [
                found.name, number("kinds", found.kind), number("queues", found.queue),
                number("outcomes", found.outcome), _plain(found.gpus), _plain(found.arrived_s),
                _plain(found.started_s), _plain(found.finished_s), _plain(found.waited_s), found.n_evictions,
                _plain(found.lost_gpu_hours), number("reasons", found.why_waiting or found.why_waited),
            ]
        )  # fmt: skip
    return {**{key: list(texts) for key, texts in names.items()}, "rows": rows}


def _plain(value: float | None) -> float | None:
    """Return a number without a decimal point if possible, to keep the page small."""
    if value is None:
        return None
    rounded = round(value, 3)
    return int(rounded) if rounded == int(rounded) else rounded
