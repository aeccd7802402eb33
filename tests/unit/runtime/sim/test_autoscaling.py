"""HorizontalPodAutoscalers: the formula, windows and rates, and replicas that follow demand."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.controllers.replica_recommendation import (
    AutoscalerHistory,
    Behavior,
    limited,
    read_behavior,
    remember,
    replicas_by_average,
    replicas_by_total,
    replicas_by_value,
    stabilised,
)
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]
USUAL = Behavior()


@pytest.mark.parametrize(
    ("values", "n_pending", "target", "current", "wanted"),
    [
        ([160, 160], 0, 80, 2, 4),
        ([88, 88], 0, 80, 2, 2),  # A tenth over the target is within tolerance,
        ([89, 89], 0, 80, 2, 3),  # and more is not.
        ([71, 71, 71], 0, 80, 3, 3),  # The same below: 0.8875 is not within, and 2.66 is three.
        ([40, 40, 40], 0, 80, 3, 2),
        ([0, 0], 0, 80, 2, 0),
        ([160, 160], 2, 80, 4, 4),  # Pods on their way count as idle: 320 over four is the target.
        ([200, 200], 1, 80, 3, 5),
        ([40, 40], 1, 80, 3, 1),  # Where fewer are wanted, they do not count.
        ([], 2, 80, 2, None),
    ],
)
def test_replicas_for_an_average_metric(
    values: list[float], n_pending: int, target: float, current: int, wanted: int | None
) -> None:
    assert replicas_by_average(values, n_pending, target, current, USUAL) == wanted


def test_replicas_for_total_and_value_metrics() -> None:
    assert replicas_by_total(100.0, 30.0, 2, USUAL) == 4
    assert replicas_by_total(64.0, 30.0, 2, USUAL) == 2
    assert replicas_by_value(60.0, 30.0, 3, 3, USUAL) == 6
    assert replicas_by_value(31.0, 30.0, 3, 3, USUAL) == 3


def test_scale_down_is_stabilised_for_five_minutes() -> None:
    past = AutoscalerHistory([(0.0, 8)])
    assert stabilised(past, USUAL, 299.0, 8, 2) == 8
    assert stabilised(past, USUAL, 300.0, 8, 2) == 2


def test_stabilisation_windows_of_both_directions() -> None:
    said = read_behavior(
        {"scaleUp": {"stabilizationWindowSeconds": 60}, "scaleDown": {"stabilizationWindowSeconds": 0}}
    )
    past = AutoscalerHistory([(0.0, 2)])
    assert stabilised(past, said, 30.0, 2, 6) == 2
    assert stabilised(past, said, 61.0, 2, 6) == 6
    assert stabilised(past, said, 62.0, 6, 1) == 1


@pytest.mark.parametrize(
    ("behavior", "current", "wanted", "allowed"),
    [
        (None, 1, 20, 4),  # Without a behavior twice as many, or four,
        (None, 6, 20, 12),
        (None, 12, 40, 20),  # and no more than the object allows.
        (None, 6, 0, 1),
        ({"scaleUp": {}}, 1, 20, 5),  # With one, four more or twice as many in 15 seconds,
        ({"scaleUp": {}}, 8, 40, 16),
        ({"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}, 3, 9, 4),
        ({"scaleUp": {"selectPolicy": "Min"}}, 8, 40, 12),
        ({"scaleUp": {"selectPolicy": "Disabled"}}, 3, 9, 3),
        ({"scaleDown": {"policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}}, 9, 1, 8),
        ({"scaleDown": {"selectPolicy": "Disabled"}}, 9, 1, 9),
    ],
)
def test_scaling_policies_limit_the_rate(behavior: Made | None, current: int, wanted: int, allowed: int) -> None:
    assert (
        limited(AutoscalerHistory(), read_behavior(behavior), 0.0, current=current, wanted=wanted, bounds=(1, 20))
        == allowed
    )


def test_recent_scale_ups_count_towards_the_rate() -> None:
    said = read_behavior({"scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}})
    past = AutoscalerHistory()
    remember(past, 0.0, 1, 3)
    assert limited(past, said, 30.0, current=3, wanted=9, bounds=(1, 20)) == 3
    assert limited(past, said, 60.0, current=3, wanted=9, bounds=(1, 20)) == 5


def scaler(metric: Made, **spec: Any) -> Made:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "serving", "namespace": "ai"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "serving"},
            "minReplicas": 1,
            "maxReplicas": 8,
            "metrics": [metric],
            **spec,
        },
    }


BY_GPU_LOAD: Made = {
    "type": "Pods",
    "pods": {"metric": {"name": "DCGM_FI_DEV_GPU_UTIL"}, "target": {"type": "AverageValue", "averageValue": "80"}},
}
BY_DEVICES: Made = {
    "type": "Resource",
    "resource": {"name": "nvidia.com/gpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


def run(*scalers: Made, gpus: int = 8) -> History:
    text = f"""
until: 40m
nodes: [{{pool: gpu, gpus: {gpus}}}]
workloads:
  - name: serving
    kind: Deployment
    namespace: ai
    gpus: 1
    startup: 30s
    saturates: 100
    demand: [{{at: 0, total: 60}}, {{at: 10m, total: 400}}, {{at: 20m, total: 100}}]
"""
    return Cluster(scalers, read_scenario(text, lambda name: [], NATIVE.workload_labels), NATIVE).run()


def scaled(history: History) -> list[tuple[float, str]]:
    return [(fact.at_s, fact.why.split(";")[0]) for fact in history.facts if fact.what == "autoscaled"]


def test_replicas_follow_gpu_load() -> None:
    history = run(scaler(BY_GPU_LOAD))
    sizes = scaled(history)
    # One replica can be busy by a hundred percent and no more, so that the autoscaler sees the rest step by step.
    assert sizes[:3] == [(600.0, "New size: 2"), (645.0, "New size: 3"), (690.0, "New size: 4")]
    assert [size for _, size in sizes if size == "New size: 5"], "400 percent at 80 each are five replicas"
    fewer = next(at for at, size in sizes if at > 1200.0)
    assert fewer == 1185.0 + 300.0, "five minutes after more were wanted last"
    assert sizes[-1][1] == "New size: 2"


def test_metrics_api_has_no_gpu_resource() -> None:
    history = run(scaler(BY_DEVICES))
    assert scaled(history) == []
    assert [fact.why for fact in history.facts if fact.what == "autoscaler-blind"] == [
        "unable to get metrics for resource nvidia.com/gpu: no metrics returned from resource metrics API"
    ]


def test_replicas_are_clamped_to_bounds() -> None:
    assert scaled(run(scaler(BY_GPU_LOAD, minReplicas=3)))[0] == (0.0, "New size: 3")


def test_pending_pods_do_not_cause_scale_up() -> None:
    history = run(scaler(BY_GPU_LOAD), gpus=2)
    assert max(int(size.split()[-1]) for _, size in scaled(history)) == 3


@pytest.mark.parametrize(
    "wrong", [{"behavior": ["fast"]}, {"maxReplicas": "many"}, {"scaleTargetRef": "serving"}, {"metrics": [3]}]
)
def test_invalid_autoscaler_is_named(wrong: Made) -> None:
    with pytest.raises(UnreadableError, match="invalid HorizontalPodAutoscaler ai/serving: "):
        run(scaler(BY_GPU_LOAD, **wrong))


def test_demand_requires_an_end() -> None:
    with pytest.raises(ScenarioError, match="until: a scenario with `demand` requires"):
        read_scenario("workloads: [{name: d, kind: Deployment, demand: [{at: 0, total: 1}]}]", lambda name: [])
