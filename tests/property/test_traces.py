"""For any trace, every row is accounted for, and the same seed gives the same result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from apportion_runtime.sim.traces import dlrm, helios, pai
from apportion_runtime.sim.traces.openb import NODE_COLUMNS, RECORD_COLUMNS, REQUEST_COLUMNS, read_openb
from apportion_runtime.sim.traces.records import JobEnd, Source, Trace, TraceJob, TraceNode, in_order
from apportion_runtime.sim.traces.sacct import FORMAT, read_sacct
from apportion_runtime.sim.traces.scenario import scenario_of
from apportion_runtime.sim.traces.transforms import (
    compressed_in_time,
    compressed_on_nodes,
    faster,
    inflated,
    offered_load,
)
from apportion_runtime.sim.traces.watch import read_watch

pytestmark = pytest.mark.property

_SHAPES = (
    TraceNode("", 96_000, 393_216, 8, "G2"),
    TraceNode("", 64_000, 262_144, 2, "T4"),
    TraceNode("", 32_000, 131_072),
)
_LIFE = st.tuples(st.none() | st.floats(0, 1e6), st.sampled_from(list(JobEnd)))
_SIZE = st.sampled_from([(0, 1000), (1, 1000), (1, 460), (8, 1000), (2, 505)])


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Draw a trace of a few nodes and jobs."""
    shapes = draw(st.lists(st.sampled_from(_SHAPES), max_size=30))
    nodes = tuple(replace(shape, name=f"node-{i}") for i, shape in enumerate(shapes))
    drawn = draw(st.lists(st.tuples(st.floats(0, 1e6), _LIFE, _SIZE), max_size=20))
    jobs = [
        TraceJob(f"job-{i}", "f", i + 2, "q", "train", 1000, 1024, size[0], size[1], (), 1, at, *life)
        for i, (at, life, size) in enumerate(drawn)
    ]
    return Trace("t", nodes, in_order(jobs), (), len(nodes) + len(jobs))


def _bytes(trace: Trace) -> str:
    return json.dumps(asdict(scenario_of(trace)), sort_keys=True)


def _without_time(trace: Trace) -> list[TraceJob]:
    return [replace(job, arrives_s=0.0) for job in trace.jobs]


@given(traces())
def test_scenario_contains_every_node_and_job(trace: Trace) -> None:
    scenario = scenario_of(trace)
    assert [made["metadata"]["name"] for made in scenario.objects] == [node.name for node in trace.nodes]
    assert [work.manifest["metadata"]["name"] for work in scenario.works] == [job.name for job in trace.jobs]


@given(traces(), st.floats(0.01, 1.0), st.integers(0, 5))
def test_node_compression_preserves_jobs_and_node_mix(trace: Trace, share: float, seed: int) -> None:
    made = compressed_on_nodes(trace, share, seed=seed)
    assert made.jobs == trace.jobs
    assert set(made.nodes) <= set(trace.nodes)
    assert len(made.nodes) == (max(1, round(len(trace.nodes) * share)) if trace.nodes else 0)
    before, after = Counter(node.gpus for node in trace.nodes), Counter(node.gpus for node in made.nodes)
    of_all = len(made.nodes) / max(1, len(trace.nodes))
    assert all(abs(after[gpus] - count * of_all) < 1 for gpus, count in before.items())
    assert _bytes(compressed_on_nodes(trace, share, seed=seed)) == _bytes(made)


@given(traces(), st.floats(1e-3, 1e3))
def test_faster_arrivals_preserve_jobs_and_order(trace: Trace, factor: float) -> None:
    made = faster(trace, factor)
    assert _without_time(made) == _without_time(trace)
    assert list(made.jobs) == list(in_order(list(made.jobs)))
    assert _bytes(faster(trace, factor)) == _bytes(made)


@given(traces(), st.floats(0.05, 1.1))
def test_time_compression_reaches_the_load_or_is_refused(trace: Trace, load: float) -> None:
    try:
        made = compressed_in_time(trace, load)
    except ValueError as refused:
        assert "reduce the number of nodes first" in str(refused)  # noqa: PT017 -- either outcome is right
        return
    assert _without_time(made) == _without_time(trace)
    assert offered_load(made) == pytest.approx(load, rel=1e-3)
    assert _bytes(compressed_in_time(trace, load)) == _bytes(made)


@given(traces(), st.floats(0.1, 2.0), st.none() | st.integers(0, 5))
def test_inflation_repeats_jobs_until_the_load_is_reached(trace: Trace, load: float, seed: int | None) -> None:
    assume(trace.gpu_milli and any(job.gpus for job in trace.jobs))
    made = inflated(trace, load=load, seed=seed)
    assert sum(job.all_gpu_milli for job in made.jobs) >= load * trace.gpu_milli
    assert sum(job.all_gpu_milli for job in made.jobs[:-1]) < load * trace.gpu_milli
    assert len({job.name for job in made.jobs}) == len(made.jobs)
    assert {(job.stays_s, job.end) for job in made.jobs} == {(None, JobEnd.OPEN)}
    lines = [job.line for job in trace.jobs]
    for begin in range(0, len(made.jobs), len(lines)):
        turn = [job.line for job in made.jobs[begin : begin + len(lines)]]
        assert turn == lines[: len(turn)] if seed is None else len(set(turn)) == len(turn)
    assert _bytes(inflated(trace, load=load, seed=seed)) == _bytes(made)


_FIELD = st.sampled_from(["", "0", "1", "7", "-1", "G2", "LS", "BE", "Running", "Pending", "x", "1e9", "999999", '"'])


@given(st.lists(st.lists(_FIELD, min_size=11, max_size=12), max_size=12))
def test_every_pod_row_is_read_or_reported(rows: list[list[str]]) -> None:
    text = "\n".join([",".join((*REQUEST_COLUMNS, *RECORD_COLUMNS)), *(",".join(row).replace('"', "") for row in rows)])
    trace = read_openb(Source("n", ",".join(NODE_COLUMNS)), Source("p", text))
    lines = [job.line for job in trace.jobs] + [skip.line for skip in trace.skips]
    assert sorted(lines) == list(range(2, len(rows) + 2))
    assert trace.n_rows == len(rows)


_SLURM = st.sampled_from(
    ["", "7", "7_[1-3]", "7.0", "COMPLETED", "PENDING", "CANCELLED by 0", "2026-11-02T08:00:00", "Unknown", "00:10:00",
     "cpu=1,gres/gpu=1,node=1", "a", '"', "²"]
)  # fmt: skip


@given(st.lists(st.lists(_SLURM, min_size=12, max_size=13), max_size=12))
def test_every_sacct_row_is_read_or_reported(rows: list[list[str]]) -> None:
    trace = read_sacct(Source("s", "\n".join([FORMAT.replace(",", "|"), *("|".join(row) for row in rows)])))
    lines = [*{job.line for job in trace.jobs}, *(skip.line for skip in trace.skips)]
    assert sorted(lines) == list(range(2, len(rows) + 2))
    assert len({job.name for job in trace.jobs}) == len(trace.jobs)


_CELL = st.sampled_from(
    ["", "0", "1", "7", "-1", "2.5", "nan", "1e9", "CN", "HN", "Failed", "CANCELLED", "2018-01-01", "x", "²"]
)
_TABLES: Mapping[str, tuple[Sequence[str], Callable[[Source], Trace]]] = {
    "dlrm": (dlrm.COLUMNS, dlrm.read_dlrm),
    "pai": ((*pai.COLUMNS, "gpu_type", "status"), pai.read_pai),
    "helios": (helios.COLUMNS, helios.read_helios),
}


@pytest.mark.parametrize("form", _TABLES)
@given(st.lists(st.lists(_CELL, min_size=17, max_size=17), max_size=12), st.integers(0, 1))
def test_every_row_of_other_tables_is_read_or_reported(form: str, rows: list[list[str]], n_more: int) -> None:
    columns, read = _TABLES[form]
    cells = [row[: len(columns) + n_more * (i % 2)] for i, row in enumerate(rows)]
    trace = read(Source("f", "\n".join([",".join(columns), *(",".join(row) for row in cells)])))
    lines = [job.line for job in trace.jobs] + [skip.line for skip in trace.skips]
    assert sorted(lines) == list(range(2, len(rows) + 2))
    assert len({job.name for job in trace.jobs}) == len(trace.jobs)
    scenario_of(trace)


_TIMES = st.sampled_from([None, "", "2018-01-01T00:00:00Z", "2018-01-01T00:09:00Z", "soon"])
_ODD = st.none() | st.integers(-1, 3) | st.sampled_from(["", "Job", "a", "0.5", "Failed", "True", "PodScheduled"])
_NAMES = (
    "phase", "conditions", "type", "status", "containers", "resources", "requests", "cpu", "allocatable", "taints", "labels",
    "annotations", "gpu-fraction", "ownerReferences", "kind", "controller", "creationTimestamp", "deletionTimestamp", "state",
    "containerStatuses", "terminated", "finishedAt", "lastTransitionTime", "nodeSelector", "tolerations", "startTime",
)  # fmt: skip
_JSON = st.recursive(
    _ODD | _TIMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def watched(draw: st.DrawFn) -> dict[str, object]:
    """Draw an event of a pod, node or job with any values in any fields."""
    metadata = {
        "name": draw(st.sampled_from(["a", "a.b", "a-b", "a-b-2", "a" * 60])),
        "namespace": draw(st.sampled_from(["a", "b"])),
        "creationTimestamp": draw(_TIMES),
        "ownerReferences": [{"kind": draw(_ODD), "name": draw(_ODD), "controller": draw(st.booleans())}],
        **(draw(st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=2))),
    }
    state = {"kind": draw(st.sampled_from(["Pod", "Pod", "Node", "Job"])), "metadata": metadata}
    fields = {name: draw(_JSON) for name in ("spec", "status")}
    return {"type": draw(st.sampled_from(["ADDED", "MODIFIED", "DELETED"])), "object": {**state, **fields}}


@given(st.lists(watched(), min_size=1, max_size=8))
def test_every_watched_object_is_read_or_reported(events: list[dict[str, Any]]) -> None:
    trace = read_watch(Source("f", "\n".join(json.dumps(event) for event in events)))
    keys = {
        (e["object"]["kind"], e["object"]["metadata"]["namespace"], e["object"]["metadata"]["name"]) for e in events
    }
    assert trace.n_rows == len(keys)
    assert len(trace.nodes) + len(trace.jobs) + len(trace.skips) <= len(keys)
    assert trace.nodes or trace.jobs or trace.skips
    assert len({job.name for job in trace.jobs}) == len(trace.jobs)
    assert len({node.name for node in trace.nodes}) == len(trace.nodes)
    scenario_of(trace)
