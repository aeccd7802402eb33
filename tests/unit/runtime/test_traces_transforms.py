"""Transformations of a small trace with easily computed numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.traces.records import JobEnd, Trace, TraceJob, TraceNode
from apportion_runtime.sim.traces.scenario import scenario_of
from apportion_runtime.sim.traces.transforms import (
    compressed_in_time,
    compressed_on_nodes,
    faster,
    inflated,
    offered_load,
    peak_load,
)

_NODES = tuple(TraceNode(f"node-{i}", 64_000, 65_536, 2, "T4" if i < 8 else "A10") for i in range(10))
_LIKE = TraceJob("", "f", 2, "q", "train", 1000, 1024, gpus=1, stays_s=10.0)
_JOBS = (
    replace(_LIKE, name="a"),
    replace(_LIKE, name="b", gpus=0, arrives_s=50.0),
    replace(_LIKE, name="c", gpu_milli=500, arrives_s=95.0),
    replace(_LIKE, name="d", gpus=2, arrives_s=100.0),
)
TRACE = Trace("t", _NODES, _JOBS)


def test_offered_load() -> None:
    # One device for 10 s and half of one for 5 s, of 20 devices for 100 s.
    assert offered_load(TRACE) == pytest.approx((10.0 + 0.5 * 5.0) / (20 * 100))


def test_peak_load() -> None:
    """Half of a device for 10 s, and two beside it from its sixth second on; whoever leaves makes room for who comes."""
    assert peak_load(TRACE) == pytest.approx((0.5 + 2.0) / 20)
    follows = replace(_LIKE, name="e", arrives_s=10.0)
    assert peak_load(Trace("t", _NODES, (_JOBS[0], follows))) == pytest.approx(1.0 / 20)


@pytest.mark.parametrize("trace", [Trace("t", _NODES, ()), Trace("t", (), _JOBS)])
def test_peak_load_without_jobs_or_devices_is_zero(trace: Trace) -> None:
    assert peak_load(trace) == 0.0


@pytest.mark.parametrize("trace", [Trace("t", _NODES, ()), Trace("t", _NODES, _JOBS[:1]), Trace("t", (), _JOBS)])
def test_offered_load_without_jobs_or_devices_is_zero(trace: Trace) -> None:
    assert offered_load(trace) == 0.0


def test_faster_changes_only_arrivals() -> None:
    made = faster(TRACE, 10.0)
    assert [(job.arrives_s, job.stays_s) for job in made.jobs] == [(0.0, 10.0), (5.0, 10.0), (9.5, 10.0), (10.0, 10.0)]


def test_time_compression_finds_the_factor() -> None:
    # Ten times faster the first job fills its device, and half a device is in use for the last twentieth.
    made = compressed_in_time(TRACE, (1.0 + 0.5 * 0.05) / 20)
    assert made.jobs[-1].arrives_s == pytest.approx(10.0)


def test_inflation_repeats_the_trace() -> None:
    made = inflated(replace(TRACE, nodes=_NODES[:2]), load=1.1, every_s=3.0)
    assert [job.name for job in made.jobs] == ["a", "b", "c", "d", "a-r2"]
    assert [job.arrives_s for job in made.jobs] == [0.0, 3.0, 6.0, 9.0, 12.0]


def test_node_compression_preserves_proportions() -> None:
    made = compressed_on_nodes(TRACE, 0.5, seed=3)
    assert [node.gpu_model for node in made.nodes] == ["T4"] * 4 + ["A10"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda: inflated(replace(TRACE, nodes=())), "GPU nodes and jobs that request GPUs"),
        (lambda: inflated(replace(TRACE, jobs=_JOBS[1:2])), "GPU nodes and jobs that request GPUs"),
        (lambda: compressed_on_nodes(TRACE, 0.0), "0 is not a fraction of the nodes"),
        (lambda: compressed_on_nodes(TRACE, 1.5), "1.5 is not a fraction of the nodes"),
        (lambda: compressed_in_time(TRACE, 0.9), "but not 0.9; reduce the number of nodes first"),
        (lambda: faster(TRACE, 0.0), "the speed factor must be greater than 0, not 0"),
        (lambda: faster(TRACE, float("inf")), "the speed factor must be greater than 0, not inf"),
    ],
)
def test_impossible_transforms_are_refused(change: Callable[[], Trace], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        change()


def test_multi_gpu_shares_and_models_are_placed() -> None:
    jobs = (
        replace(_LIKE, name="parts", gpus=2, gpu_milli=510, gpu_models=("A10",)),
        replace(_LIKE, name="gang", n_pods=3, gpus=2, gpu_models=("A10", "T4"), end=JobEnd.FAILED),
    )
    resources = {name: {"quota": -1, "limit": -1, "overQuotaWeight": 1} for name in ("cpu", "gpu", "memory")}
    queues = [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"resources": resources, **({"parentQueue": "top"} if name == "q" else {})},
        }
        for name in ("top", "q")
    ]
    history = Cluster(queues, scenario_of(Trace("t", (_NODES[0], *_NODES[7:]), jobs))).run()
    assert [facts.outcome for facts in history.workloads] == ["succeeded", "failed"]
    assert sorted(stay.gpus for stay in history.stays) == [1.02, 2.0, 2.0, 2.0]
