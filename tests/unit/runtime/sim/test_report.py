"""The report of a simulation: its numbers, which are the same in every format."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from apportion_runtime.sim.history import ENDED_BY_SUCCESS, EvictionFact, Fact, History, Sample, WorkloadFacts
from apportion_runtime.sim.report.chart_geometry import draw_lanes, ticks
from apportion_runtime.sim.report.comparison import Change, compare
from apportion_runtime.sim.report.comparison_labels import both
from apportion_runtime.sim.report.comparison_page import comparison_page
from apportion_runtime.sim.report.fragmentation import fragmentation
from apportion_runtime.sim.report.number_format import elapsed, lasting
from apportion_runtime.sim.report.page import html_page
from apportion_runtime.sim.report.report import WAIT_BOUNDS_S, Preemption, Report, build_report
from apportion_runtime.sim.report.steps import area, stacked, thinned
from apportion_runtime.sim.report.story import story

from .histories import crowded

_HOUR = 3600.0


def small() -> History:
    """One node of four GPUs, ten hours; a gang of two that is evicted once, and a pod with half a GPU."""
    history = History(parents={"top": None, "a": "top", "b": "top"})
    history.set_machine("n", 4.0, 0.0)
    history.set_capacity(4.0, 0.0)
    gang, half = (
        WorkloadFacts(n, name, "Job", "x", 0.0, q, g)
        for n, name, q, g in ((0, "gang", "a", 2.0), (1, "half", "b", 0.5))
    )
    history.workloads += [gang, half]
    history.begin_wait("gang", 0, "a", 0.0)
    history.end_wait("gang", 0.0)
    for pod in ("gang-0", "gang-1"):
        history.begin_stay(pod, 0, "n", gpus=1.0, cpu=0.0, at_s=0.0)
    history.begin_stay("half-0", 1, "n", gpus=0.5, cpu=0.0, at_s=_HOUR, devices=("g",))
    for pod in ("gang-0", "gang-1"):
        history.end_stay(pod, 2 * _HOUR, "evicted")
        history.taken.append(EvictionFact(2 * _HOUR, pod, 0, "a", "n", 1.0, "reclaim", "g", 1, "b", "rule", "text"))
    history.begin_wait("gang", 0, "a", 2 * _HOUR)
    history.end_wait("gang", 5 * _HOUR)
    for pod in ("gang-0", "gang-1"):
        history.begin_stay(pod, 0, "n", gpus=1.0, cpu=0.0, at_s=5 * _HOUR)
        history.end_stay(pod, 6 * _HOUR, ENDED_BY_SUCCESS)
    gang.started_s, gang.finished_s, gang.outcome, gang.lost_gpu_s = 0.0, 6 * _HOUR, "succeeded", 2 * _HOUR
    for name in history.parents:
        history.sample(name, Sample(0.0, 0.0, 2.0, 1.0, 0.0))
    history.end(10 * _HOUR)
    return history


def report_of(history: History) -> Report:
    return build_report(history, "a name", 0.0)


def test_stacked_spans() -> None:
    assert stacked([(0.0, 4.0, 1.0), (2.0, 3.0, 0.5), (4.0, 5.0, 1.0)]) == [
        (0.0, 1.0),
        (2.0, 1.5),
        (3.0, 1.0),
        (5.0, 0.0),
    ]


def test_thinned_steps_preserve_the_area() -> None:
    steps = [(float(at), float((at * 7919) % 11)) for at in range(1000)]
    found = thinned(steps, 1000.0, 37)
    assert len(found) == 37
    assert area(found, 1000.0) == pytest.approx(area(steps, 1000.0))
    assert thinned(steps, 1000.0, 1000) == steps


def test_queue_figures_include_descendants() -> None:
    report = report_of(small())
    queues = {queue.name: queue for queue in report.summary.queues}
    assert queues["a"].gpu_hours == 6.0
    assert queues["b"].gpu_hours == 4.5
    assert queues["top"].gpu_hours == 10.5
    assert queues["a"].share == 6.0 / 20.0
    assert (queues["top"].n_evictions, queues["top"].n_evicted_pods, queues["top"].lost_gpu_hours) == (1, 2, 2.0)
    assert (queues["a"].wait_p50_s, queues["a"].wait_p99_s) == (0.0, 3 * _HOUR)
    assert report.summary.utilisation == 10.5 / 40.0
    assert report.preemptions == (Preemption("b", "a", 1, 2, 2.0),)
    waits = {found.queue: found.counts for found in report.waits}
    assert waits["top"] == waits["a"] == (1, 0, 0, 0, 0, 1, 0, 0)
    assert WAIT_BOUNDS_S[5] == 4 * _HOUR
    gang = report.workloads[0]
    assert gang.runs == ((0.0, 2 * _HOUR), (5 * _HOUR, 6 * _HOUR))
    assert gang.waits == ((2 * _HOUR, 5 * _HOUR),)
    assert (gang.gpus, gang.most_gpus, gang.evicted_s) == (2.0, 2.0, (2 * _HOUR,))


def test_area_of_usage_is_gpu_hours() -> None:
    report = report_of(crowded(300, 20))
    series = {found.queue: found for found in report.series}
    for queue in report.summary.queues:
        assert area(series[queue.name].allocated, report.summary.duration_s) / _HOUR == pytest.approx(queue.gpu_hours)
    assert sum(found.n_evictions for found in report.preemptions) == report.summary.n_evictions > 50
    roots = [queue for queue in report.summary.queues if queue.parent is None]
    assert sum(queue.gpu_hours for queue in roots) == pytest.approx(report.summary.gpu_hours)


def test_fragmentation_is_unusable_for_a_random_pod() -> None:
    """Of five stays, one asks for half a GPU and four for a whole one: half a device is of no use to four in five."""
    history = small()
    free_half = 9 * 0.5
    free_whole = 1 * 2 + 1 * 1 + 3 * 3 + 1 * 1 + 4 * 3
    assert fragmentation(history) == pytest.approx(0.8 * free_half / (free_half + free_whole))


def test_no_fragmentation_without_gpu_requests() -> None:
    history = History()
    history.set_machine("n", 4.0, 0.0)
    history.end(10.0)
    assert fragmentation(history) is None


def test_remainders_of_two_devices_are_not_added() -> None:
    history = History(workloads=[WorkloadFacts(0, "w", "Pod", "x", 0.0, "q", 1.0)])
    history.set_machine("n", 2.0, 0.0)
    for number in range(2):
        history.begin_stay(f"p{number}", 0, "n", gpus=0.6, cpu=0.0, at_s=0.0, devices=(f"g{number}",))
    history.end(10.0)
    assert fragmentation(history) == 1.0, "0.4 and 0.4 are left, and everyone asks for 0.6"


class _Values(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[str]] = {}
        self.tiles: dict[str, str] = {}
        self._row = ""
        self._table = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        assert tag not in ("link", "img", "iframe") or said.get("href") == "data:,", "nothing is fetched"
        assert not (tag == "script" and "src" in said)
        if tag == "table":
            self._table = said["id"]
        if tag == "tr":
            self._row = said.get("data-queue", "")
        if tag == "td" and "data-value" in said and self._table == "queue-table":
            self.rows.setdefault(self._row, []).append(said["data-value"])
        if "data-tile" in said:
            self.tiles[said["data-tile"]] = said["data-value"]


def test_page_and_json_have_equal_numbers() -> None:
    report = report_of(crowded(200, 20))
    document = json.loads(json.dumps(report.document()))
    read = _Values()
    read.feed(html_page(report))
    assert {key: float(value) for key, value in read.tiles.items()} == {key: document[key] for key in read.tiles}
    for queue in document["queues"]:
        fields = ("gpu_hours", "fair_gpu_hours", "share", "wait_p50_s", "wait_p90_s", "wait_p99_s")
        wanted = ["" if queue[field] is None else str(queue[field]) for field in fields]
        assert read.rows[queue["name"]][:6] == wanted


def test_page_size_for_10000_workloads() -> None:
    assert len(html_page(report_of(crowded(10_000))).encode()) < 3_000_000


def test_page_is_deterministic() -> None:
    assert html_page(report_of(crowded(100, 10))) == html_page(report_of(crowded(100, 10)))


def test_lanes_do_not_overlap() -> None:
    report = report_of(crowded(400, 20))
    lanes, shows_waits = draw_lanes(
        list({queue.name for queue in report.summary.queues}), report.workloads, report.summary.duration_s
    )
    assert shows_waits
    for found in lanes:
        spans: dict[float, list[tuple[float, float]]] = {}
        for bar in found.bars:
            workload = report.workloads[bar.number]
            ends = [until for _, until in workload.runs]
            spans.setdefault(bar.top, []).append((workload.arrived_s, max(ends, default=workload.arrived_s)))
        for own in spans.values():
            assert all(until <= since for (_, until), (since, _) in pairwise(sorted(own)))
        assert sum(found.n_workloads for found in lanes) == 400


def test_empty_simulation_has_a_page() -> None:
    history = History()
    history.end(0.0)
    page = html_page(report_of(history))
    assert "No evictions." in page
    assert story(history) == []


def test_story_is_bounded_and_keeps_important_events() -> None:
    facts = [Fact(float(number), "arrived", f"w{number}", "q") for number in range(50)]
    facts += [Fact(60.0, "evicted", "w1", "q", pod, by="w9", why="over its share") for pod in ("a", "b", "c")]
    lines = story(History(facts=facts), most=5)
    assert len(lines) == 5
    assert lines[-2:] == [
        "00:01:00  3 pods of w1 (q) are evicted for w9: over its share",
        "… and 47 more events; -o jsonl lists all events",
    ]


def test_interrupted_workloads_are_not_failures() -> None:
    history = crowded(50, 10)
    history.ended_s = history.workloads[7].arrived_s
    late = sum(facts.arrived_s > history.ended_s and not facts.outcome for facts in history.workloads)
    report = report_of(history)
    assert report.summary.outcomes["not arrived"] == late > 0
    drawn = sum(found.n_workloads for found in draw_lanes([], report.workloads, history.ended_s)[0])
    assert drawn == 50 - late


def test_comparison_of_equal_reports_is_empty() -> None:
    report = report_of(small())
    comparison = compare(report, report_of(small()))
    assert comparison.is_empty
    assert "No differences." in comparison_page(comparison)


def test_comparison_lists_only_differences() -> None:
    later = small()
    later.workloads[0].finished_s = 7 * _HOUR
    comparison = compare(report_of(small()), report_of(later))
    assert [changed.name for changed in comparison.workloads] == ["x/gang"]
    assert comparison.workloads[0].changes == (Change("finished_s", 6 * _HOUR, 7 * _HOUR),)
    assert comparison.cluster == (Change("makespan_s", 6 * _HOUR, 7 * _HOUR),)
    assert comparison.queues == ()
    assert both(comparison.cluster[0]) == "6h → 7h"


def test_durations_are_readable() -> None:
    assert [lasting(seconds) for seconds in (0, 59.6, 90, 12_000, 187_200)] == [
        "0s",
        "60s",
        "1m 30s",
        "3h 20m",
        "2d 4h",
    ]
    assert elapsed(90_061) == "1d 01:01:01"
    assert [tick.text for tick in ticks(5 * _HOUR)] == ["0", "1h", "2h", "3h", "4h"]
