"""Jobs placed one by one with a simple rule, on nodes with easily computed numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.traces.packing_bound import Rule, pack, packed
from apportion_runtime.sim.traces.records import JobEnd, Trace, TraceJob, TraceNode
from apportion_runtime.sim.traces.scenario import scenario_of

_NODES = (TraceNode("large", 64_000, 65_536, 4, "A10"), TraceNode("small", 64_000, 65_536, 2, "T4"))
_LIKE = TraceJob("", "f", 2, "q", "train", 1000, 1024, gpus=1, stays_s=None, end=JobEnd.OPEN)
_RESOURCE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
_QUEUE = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "q"},
    "spec": {"resources": dict.fromkeys(("cpu", "memory", "gpu"), _RESOURCE)},
}


def _trace(*jobs: TraceJob) -> Trace:
    named = (replace(job, name=f"j-{i}", arrives_s=float(i)) for i, job in enumerate(jobs))
    return Trace("t", _NODES, tuple(named))


PAIR = _trace(_LIKE, replace(_LIKE, gpus=4))


@pytest.mark.parametrize(("rule", "n_placed"), [(Rule.BEST_FIT, 2), (Rule.SPREAD, 1)])
def test_packing_rules_differ(rule: Rule, n_placed: int) -> None:
    """The small job on the small node leaves the large one whole; on the emptiest node it does not."""
    assert pack(PAIR, rule).n_placed == n_placed


def test_fractions_use_the_fullest_device() -> None:
    half = replace(_LIKE, gpu_milli=500, gpu_models=("T4",))
    made = pack(_trace(half, half, replace(_LIKE, gpu_models=("T4",))), Rule.BEST_FIT)
    assert made.n_placed == 3
    assert made.allocated == pytest.approx(2 / 6)


def test_fragmentation_of_a_packing() -> None:
    """After 0.6 of a device the 0.4 that are left are of use to no other such job; the second device is."""
    part = replace(_LIKE, gpu_milli=600, gpu_models=("T4",))
    made = pack(replace(_trace(part), nodes=_NODES[1:]), Rule.BEST_FIT)
    assert made.allocated == pytest.approx(0.3)
    assert made.fragmentation == pytest.approx(0.4 / 1.4)


def test_models_and_memory_are_respected() -> None:
    assert pack(_trace(replace(_LIKE, gpu_models=("H100",))), Rule.RANDOM_FIT).n_placed == 0
    assert pack(_trace(replace(_LIKE, memory_mib=65_537)), Rule.SPREAD).n_placed == 0


def test_packing_is_deterministic() -> None:
    jobs = _trace(*[replace(_LIKE, gpu_milli=milli) for milli in (300, 700, 500, 1000, 250)])
    assert pack(jobs, Rule.RANDOM_FIT, seed=3) == pack(jobs, Rule.RANDOM_FIT, seed=3)


@pytest.mark.parametrize("trace", [replace(PAIR, nodes=()), _trace(replace(_LIKE, n_pods=2))])
def test_unsupported_jobs_are_refused(trace: Trace) -> None:
    with pytest.raises(ValueError, match=r"GPU|single pod"):
        pack(trace, Rule.BEST_FIT)


def test_simulation_and_packing_use_the_same_measure() -> None:
    """Six devices: a whole one, two halves of one, and 0.7 of another."""
    jobs = (_LIKE, *[replace(_LIKE, gpu_milli=500)] * 2, replace(_LIKE, gpu_milli=700))
    trace = _trace(*jobs)
    history = Cluster([_QUEUE], scenario_of(trace, until_s=60.0)).run()
    made = packed(trace, history.stays)
    assert made.n_placed == 4
    assert made.allocated == pytest.approx(2.7 / 6)
    assert made.fragmentation == pytest.approx(pack(trace, Rule.BEST_FIT).fragmentation)
