"""Interpretation of Koordinator's amounts: weights, lending, refusals, trees of models, and existing quotas."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from apportion_compiler.engines.koordinator import emit as koordinator
from apportion_compiler.engines.koordinator.reader import READER
from apportion_compiler.ir.program import Program
from apportion_policy import UNLIMITED, Engine, PriorityClass, Queue, Resources, Topology, Weight

from .quota_programs import gpu_pool, program_of

PREFIX = "quota.scheduling.koordinator.sh"


def _program(*queues: Queue, **said: Any) -> Program:
    return program_of(Engine.KOORDINATOR, *queues, **said)


def _quotas(program: Program) -> dict[str, Any]:
    return {m["metadata"]["name"]: m for m in koordinator.emit(program).manifests if m["kind"] == "ElasticQuota"}


def _weights(program: Program, name: str) -> dict[str, str]:
    return json.loads(_quotas(program)[name]["metadata"]["annotations"][f"{PREFIX}/shared-weight"])


def _refused(program: Program) -> list[tuple[str, str]]:
    return [(refusal.code, refusal.address) for refusal in koordinator.refusals(program)]


def _read(program: Program) -> Any:
    return READER.read(koordinator.emit(program).manifests)


def test_every_weight_is_emitted() -> None:
    program = _program(Queue(id="a", guaranteed=Resources(cpu=4, gpu=4)), Queue(id="b", over_quota_weight=3))
    assert _weights(program, "a") == {"cpu": "1", "nvidia.com/gpu": "1"}
    assert _weights(program, "b") == {"cpu": "3", "nvidia.com/gpu": "3"}


def test_fractional_weight_scales_all_weights() -> None:
    program = _program(
        Queue(id="a", guaranteed=Resources(cpu=4, gpu=4)), Queue(id="b", over_quota_weight=Weight(gpu="0.5"))
    )
    assert _weights(program, "a") == {"cpu": "1000", "nvidia.com/gpu": "1000"}
    assert _weights(program, "b") == {"cpu": "1000", "nvidia.com/gpu": "500"}
    assert [queue.weight for queue in _read(program).queues] == [{"cpu": 1000, "gpu": 1000}, {"cpu": 1000, "gpu": 500}]


def test_zero_weight_is_refused() -> None:
    program = _program(Queue(id="a", guaranteed=Resources(gpu=4)), Queue(id="b", over_quota_weight=0))
    assert (_weights(program, "a"), _weights(program, "b")) == ({"nvidia.com/gpu": "1000"}, {"nvidia.com/gpu": "1"})
    assert _refused(program) == [("AP507", "queue b")]


@pytest.mark.parametrize(
    ("lent", "label", "refused"),
    [
        (None, "true", []),
        (Resources(cpu=0, gpu=0), "false", []),
        (Resources(cpu=4, gpu=UNLIMITED), "true", []),
        (Resources(gpu=0), "true", [("AP501", "queue a")]),
        (Resources(cpu=2), "true", [("AP501", "queue a")]),
    ],
)
def test_lending_is_all_or_nothing(lent: Resources | None, label: str, refused: list[tuple[str, str]]) -> None:
    program = _program(Queue(id="a", guaranteed=Resources(cpu=4, gpu=4), lending_limit=lent))
    assert _quotas(program)["a"]["metadata"]["labels"][f"{PREFIX}/allow-lent-resource"] == label
    assert _refused(program) == refused
    assert _read(program).queues[0].lending_limit == ({} if label == "true" else {"cpu": 0, "gpu": 0})


def test_each_gpu_model_has_its_own_tree() -> None:
    pools = (gpu_pool("h100"), gpu_pool("l4"))
    program = _program(
        Queue(id="a", guaranteed=Resources(cpu=4, gpu={"h100": 4, "l4": 2}), namespaces=("x",)),
        Queue(id="b", limit=Resources(gpu={"h100": 8, "l4": 8})),
        pools=pools,
    )
    quotas = _quotas(program)
    assert sorted(quotas) == ["a", "a-h100", "a-l4", "b", "b-h100", "b-l4"]
    assert quotas["a"]["spec"]["max"]["nvidia.com/gpu"] == "0"
    assert quotas["a-h100"]["spec"] == {"min": {"nvidia.com/gpu": "4"}, "max": {"nvidia.com/gpu": "16"}}
    assert f"{PREFIX}/namespaces" not in quotas["a-h100"]["metadata"]["annotations"]
    a, b = _read(program).queues
    assert a.guaranteed == {"cpu": 4000, "gpu/h100": 4000, "gpu/l4": 2000, "gpu": 6000}
    assert (b.limit["gpu/h100"], a.namespaces) == (8000, ("x",))


def test_gpus_are_only_in_the_trees_of_their_models() -> None:
    """Whoever bounds one model alone speaks of no GPUs without a model, and still none are to be had there."""
    bounded = Queue(id="a", guaranteed=Resources(cpu=4), limit=Resources(gpu={"h100": 4}))
    quotas = _quotas(_program(bounded, pools=(gpu_pool("h100"), gpu_pool("l4"))))
    assert quotas["a"]["spec"]["max"]["nvidia.com/gpu"] == "0"
    assert quotas["a-h100"]["spec"]["max"] == {"nvidia.com/gpu": "4"}
    assert quotas["a-l4"]["spec"]["max"] == {"nvidia.com/gpu": "16"}


def test_single_gpu_model_needs_no_tree() -> None:
    program = _program(Queue(id="a", guaranteed=Resources(gpu={"h100": 4})), pools=(gpu_pool("h100"),))
    assert list(_quotas(program)) == ["a"]


@pytest.mark.parametrize(
    ("value", "refused"), [(4999, False), (5000, True), (7999, True), (8000, False), (9500, False)]
)
def test_priority_in_the_batch_range_is_refused(value: int, refused: bool) -> None:
    program = _program(Queue(id="a"), priority_classes=(PriorityClass(name="x", value=value, preemptible=True),))
    assert _refused(program) == ([("AP519", "priority class x")] if refused else [])


def test_classes_of_the_chart_are_not_emitted() -> None:
    classes = (PriorityClass(name="koord-prod", value=9000, preemptible=False),)
    manifests = koordinator.emit(_program(Queue(id="a"), priority_classes=classes)).manifests
    assert not [m for m in manifests if m["kind"] == "PriorityClass"]
    other = (PriorityClass(name="koord-prod", value=9001, preemptible=False),)
    assert _refused(_program(Queue(id="a"), priority_classes=other)) == [("AP519", "priority class koord-prod")]


def test_topology_is_a_chain_of_layers() -> None:
    levels = ("example.com/spine", "example.com/rack", "kubernetes.io/hostname")
    topologies = (Topology(name="fabric", levels=levels), Topology(name="other", levels=levels))
    program = _program(Queue(id="a"), topologies=topologies)
    (written,) = [m for m in koordinator.emit(program).manifests if m["kind"] == "ClusterNetworkTopology"]
    assert written["spec"] == {
        "networkTopologySpec": [
            {"topologyLayer": "example.com/spine", "labelKey": ["example.com/spine"]},
            {
                "topologyLayer": "example.com/rack",
                "labelKey": ["example.com/rack"],
                "parentTopologyLayer": "example.com/spine",
            },
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "example.com/rack"},
        ]
    }
    assert [(t.name, t.levels) for t in _read(program).topologies] == [("fabric", levels[:2])]
    assert _refused(program) == [("AP511", "topology other")]


def test_scheduler_checks_parents_and_revokes() -> None:
    artifacts = {artifact.name: artifact.content for artifact in koordinator.emit(_program(Queue(id="a"))).artifacts}
    config = yaml.safe_load(yaml.safe_load(artifacts["koord-scheduler-config.yaml"])["data"]["koord-scheduler-config"])
    arguments = {plugin["name"]: plugin["args"] for plugin in config["profiles"][0]["pluginConfig"]}
    assert arguments["ElasticQuota"]["enableCheckParentQuota"] is True
    assert arguments["ElasticQuota"]["monitorAllQuotas"] is True


def test_existing_quotas_are_imported() -> None:
    def quota(name: str, labels: dict[str, str], annotations: dict[str, str], **spec: Any) -> dict[str, Any]:
        metadata = {
            "name": name,
            "namespace": "default",
            "labels": {f"{PREFIX}/{key}": value for key, value in labels.items()},
            "annotations": {f"{PREFIX}/{key}": value for key, value in annotations.items()},
        }
        return {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": metadata,
            "spec": spec,
        }

    record = READER.read(
        [
            quota("team", {"parent": "dept"}, {"namespaces": '["b","a"]'}, max={"cpu": 40, "memory": "40Gi"}),
            quota("dept", {"is-parent": "true"}, {}, min={"cpu": "10"}, max={"cpu": "40", "memory": "50Gi"}),
            quota("koordinator-default-quota", {}, {}, max={"cpu": 1}),
        ]
    )
    dept, team = record.queues
    assert (team.parent, team.namespaces, team.guaranteed) == ("dept", ("a", "b"), {})
    assert (dept.guaranteed, dept.limit) == ({"cpu": 10_000}, {"cpu": 40_000, "memory": 50 * 2**30})
    assert team.limit == {"memory": 40 * 2**30}  # Its cpu is bounded by the parent's alone.
    assert team.weight == {"cpu": 40_000, "memory": 40 * 2**30 * 1000}
