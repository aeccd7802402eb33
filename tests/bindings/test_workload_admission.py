"""Workloads checked on a cluster: output of bind is valid, and workloads that never run are found on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pytest

from apportion_compiler.backends import EMITTERS
from apportion_compiler.bindings import KINDS
from apportion_compiler.bindings.bind import bind, bound
from apportion_compiler.bindings.capacity_rules import capacity_verdicts
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.engines.registry import ENGINES, TRAITS
from apportion_compiler.ir.program import Program
from apportion_compiler.plain_objects import mapping
from apportion_policy import Accelerator, Queue, Resources

from .programs import QUEUED, program

QUEUES: Mapping[str, str] = {
    "kai": "kai.scheduler/queue", "kueue": "kueue.x-k8s.io/queue-name", "volcano": "scheduling.volcano.sh/queue-name",
    "koordinator": "quota.scheduling.koordinator.sh/name", "ack": "quota.scheduling.alibabacloud.com/name",
    "yunikorn": "yunikorn.apache.org/queue",
}  # fmt: skip
_OTHER = {"yunikorn": "root.research.speech"}
_VISION = Queue(
    id="vision",
    namespaces=("vision",),
    limit=Resources(cpu=64, memory="256Gi", gpu=12),
    priority_classes=("train",),
    gpu_sharing=True,
)


@cache
def cluster(engine: str) -> tuple[Program, tuple[Mapping[str, object], ...]]:
    """Return a cluster, and its compiled objects."""
    made = program(engine, _VISION, Queue(id="speech", namespaces=("speech",)))
    return made, tuple(m for name in dict.fromkeys((engine, "native")) for m in EMITTERS[name].emit(made).manifests)


def job(engine: str, **options: Any) -> dict[str, Any]:
    (made,) = bind(cluster(engine)[0], "vision", "Job", Options(gpus=2000, **options))
    return dict(made)


def told(engine: str, *manifests: Mapping[str, object], by_tree: bool = False) -> str:
    """Return the messages of findings, from the compiled objects alone or with the policy."""
    made, existing = cluster(engine)
    found = [*workload_verdicts(engine, manifests, existing)]
    if engine in ENGINE_RULES:
        found += ENGINE_RULES[engine].check(manifests, existing)
    if not by_tree:
        found += capacity_verdicts(made, manifests)
    return "\n".join(verdict.message for verdict in found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_bound_workloads_have_no_findings(engine: str, kind: str) -> None:
    if kind == "VolcanoJob" and engine != "volcano":
        with pytest.raises(BindingError):
            bind(cluster(engine)[0], "vision", kind, Options(workers=2, gpus=2000))
        return
    made = bind(cluster(engine)[0], "vision", kind, Options(workers=2, gpus=2000))
    assert told(engine, *made) == ""


@pytest.mark.parametrize("by_tree", [False, True], ids=["policy", "tree"])
@pytest.mark.parametrize("engine", QUEUES)
def test_queue_of_another_namespace_is_reported(engine: str, by_tree: bool) -> None:
    other = _OTHER.get(engine, "speech")
    assert f"it references {other}; workloads in namespace vision must use" in told(
        engine, _renamed(job(engine), QUEUES[engine], other), by_tree=by_tree
    )


@pytest.mark.parametrize("by_tree", [False, True], ids=["policy", "tree"])
@pytest.mark.parametrize("engine", QUEUES)
def test_namespace_of_another_queue_is_reported(engine: str, by_tree: bool) -> None:
    made = job(engine)
    made["metadata"]["namespace"] = "speech"
    assert "workloads in namespace speech must use" in told(engine, made, by_tree=by_tree)
    made["metadata"]["namespace"] = "nowhere"
    assert "namespace nowhere does not belong to any queue in the policy" in told(engine, made, by_tree=by_tree)


@pytest.mark.parametrize("engine", ENGINES)
def test_forbidden_priority_class_is_reported(engine: str) -> None:
    made = job(engine)
    made["spec"]["template"]["spec"]["priorityClassName"] = "inference"
    message = "priority class inference is not allowed in namespace vision; allowed: train"
    assert message in told(engine, made)
    assert message in told(engine, made, by_tree=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_capacity_findings_require_the_policy(engine: str) -> None:
    made = job(engine)
    pods = made["spec"]["template"]["spec"]
    amounts = pods["containers"][0]["resources"]

    def asks(gpus: int, n_pods: int = 1) -> str:
        amounts["requests"]["nvidia.com/gpu"] = amounts["limits"]["nvidia.com/gpu"] = str(gpus)
        made["spec"] |= {"parallelism": n_pods, "completions": n_pods}
        return told(engine, made)

    assert asks(8) == ""
    assert "requests 16 GPUs in one pod, but no machine that queue vision may use has more than 8 GPUs" in asks(16)
    assert "requests 16 GPUs, but queue vision is limited to 12 GPUs" in asks(8, n_pods=2)
    pods["nodeSelector"] = {"apportion.dev/gpu-model": "b300"}
    assert asks(1) == "no node pool that queue vision may use has apportion.dev/gpu-model: b300"


@pytest.mark.parametrize("engine", [*QUEUES, "native"])
def test_independent_pods_can_start_partially(engine: str) -> None:
    # Kueue and kube-queue admit a Job as a whole.
    never = engine in ("ack", "kueue")
    made = job(engine, workers=7)
    for node in (made["metadata"], made["spec"]["template"].get("metadata", {})):
        node["annotations"] = {}
    found = [
        verdict for verdict in capacity_verdicts(cluster(engine)[0], [made]) if "is limited to 12" in verdict.message
    ]
    assert [verdict.effect for verdict in found] == [Effect.PENDING if never else Effect.IGNORED]
    assert ("so its pods can never all run at the same time" in found[0].message) is not never


def test_volcano_job_starts_at_its_minimum() -> None:
    (made,) = bind(cluster("volcano")[0], "vision", "VolcanoJob", Options(gpus=2000, workers=7))
    assert [v.effect for v in capacity_verdicts(cluster("volcano")[0], [made])] == [Effect.PENDING]
    smaller = {**made, "spec": {**mapping(made, "spec"), "minAvailable": 3}}
    assert [v.effect for v in capacity_verdicts(cluster("volcano")[0], [smaller])] == [Effect.IGNORED]


def test_elastic_work_over_the_limit_starts_with_fewer_pods() -> None:
    made = job("kai", least=2, most=7)
    assert [v.effect for v in capacity_verdicts(cluster("kai")[0], [made])] == [Effect.IGNORED]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}, ""),
        ({"cloud.google.com/gke-accelerator": "nvidia-l4"}, "has cloud.google.com/gke-accelerator: nvidia-l4"),
        ({"node.kubernetes.io/instance-type": "a3-highgpu-1g"}, "has node.kubernetes.io/instance-type: a3-highgpu-1g"),
        (
            {"apportion.dev/gpu-model": "h100", "cloud.google.com/gke-accelerator": "nvidia-l4"},
            "has cloud.google.com/gke-accelerator: nvidia-l4",
        ),
        ({"topology.kubernetes.io/zone": "europe-west4-a"}, ""),
    ],
)
def test_provider_node_selectors_are_checked(selector: dict[str, str], expected: str) -> None:
    made = program("kai", _VISION, pools=(QUEUED.model_copy(update={"provisioning": None}),))
    (work,) = bind(made, "vision", "Job", Options(gpus=2000))
    pods = cast("dict[str, Any]", work)["spec"]["template"]["spec"]
    pods["nodeSelector"] = selector
    found = [verdict.message for verdict in capacity_verdicts(made, (work,))]
    assert found == ([f"no node pool that queue vision may use {expected}"] if expected else [])


def _selecting(**selector: str) -> list[tuple[str, str]]:
    """Return findings for workloads on two pools of H100, which share a flavor, and one of L4, which has another."""
    pool = QUEUED.model_copy(update={"provisioning": None, "machine_type": None})
    other = {"id": "l4", "accelerator": Accelerator(model="l4", count=2)}
    pools = (pool.model_copy(update={"id": "a"}), pool.model_copy(update={"id": "b"}), pool.model_copy(update=other))
    vision = _VISION.model_copy(update={"limit": None, "guaranteed": Resources(gpu={"h100": 8, "l4": 2})})
    made = program("kueue", vision, pools=pools)
    (work,) = bind(made, "vision", "Job", Options(gpus=1000))
    pods = cast("dict[str, Any]", work)["spec"]["template"]["spec"]
    pods["nodeSelector"] = {key.replace("__", "/").replace("_", "-"): value for key, value in selector.items()}
    return [(verdict.message, verdict.cure) for verdict in capacity_verdicts(made, (work,))]


def test_node_selector_without_flavor_is_reported() -> None:
    pool = "cloud.google.com__gke_nodepool"
    ((message, cure),) = _selecting(**{pool: "l4"})
    assert message == (
        "Kueue ignores selector keys that a flavor does not set, so it may assign flavor h100, which has no nodes with "
        "cloud.google.com/gke-nodepool: l4"
    )
    assert cure == "also select apportion.dev/gpu-model: l4"
    assert _selecting(**{pool: "l4", "apportion.dev__gpu_model": "l4"}) == []
    assert _selecting(**{pool: "b"}) == [], "its flavor stands for it, and that of L4 has the key"
    assert [message for message, _ in _selecting(**{pool: "c"})] == [
        "no node pool that queue vision may use has cloud.google.com/gke-nodepool: c"
    ]


@pytest.mark.parametrize(("engine", "other"), [("kueue", "kai"), ("native", "volcano"), ("kai", "kueue")])
def test_workload_of_another_engine_is_reported(engine: str, other: str) -> None:
    found = [v for v in capacity_verdicts(cluster(engine)[0], [job(other)]) if "queue or scheduler of" in v.message]
    assert [v.message for v in found] == [
        f"it references a queue or scheduler of {TRAITS[other].title}, but cluster gpu runs {TRAITS[engine].title}"
    ]
    assert found[0].effect is (Effect.IGNORED if other == "kueue" else Effect.PENDING)


def test_pod_larger_than_nodes_of_its_model_is_warned_about() -> None:
    remarks = bound(cluster("kai")[0], "vision", "Job", Options(gpus=2000, gpu_model="h100", cpu=1_000_000)).remarks
    assert any("in one pod, but no machine that queue vision may use has more than" in remark for remark in remarks)


def _renamed(value: Any, key: str, queue: str) -> Any:
    """Return a manifest with another queue wherever the key occurs."""
    if isinstance(value, dict):
        return {name: queue if name == key else _renamed(inner, key, queue) for name, inner in value.items()}
    return [_renamed(inner, key, queue) for inner in value] if isinstance(value, list) else value
