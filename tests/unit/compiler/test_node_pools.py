"""Node pools: fields of the documents, and consistency of node labels with the engines' selectors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.nodepools import documents, emit
from apportion_compiler.backends.nodepools.document import Document
from apportion_compiler.backends.pool_labels import declared_labels, node_labels, provider_labels, set_labels
from apportion_compiler.engines.native.emit.node_labels import node_label_list
from apportion_compiler.kubernetes_names import gke_name
from apportion_compiler.targets import targets_of
from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Ack,
    Eks,
    Engine,
    Fixed,
    Gke,
    Karpenter,
    NodePool,
)

from .pool_programs import DWS, DWS_POOL, H100, L4, QUEUED, policy_of, program_of

FIELDS: Mapping[str, Any] = json.loads((Path(__file__).parent / "pulumi_fields.json").read_text(encoding="utf-8"))


def test_self_managed_group_has_autoscaler_hints() -> None:
    pool = NodePool(
        id="self",
        provider=Eks(managed=False),
        machine_type="g6.xlarge",
        accelerator=L4,
        max_nodes=3,
        taints=(GPU_TAINT,),
    )
    program = program_of(pool)
    group = next(d for d in documents(program) if d.type == "aws:autoscaling/group:Group")
    tags = {tag["key"]: tag["value"] for tag in cast("list[dict[str, str]]", group.args["tags"])}
    template = "k8s.io/cluster-autoscaler/node-template"
    for key, value in declared_labels(program, program.pools[0]).items():
        assert tags[f"{template}/label/{key}"] == value
    assert tags[f"{template}/taint/nvidia.com/gpu"] == "present:NoSchedule"
    assert tags[f"{template}/resources/nvidia.com/gpu"] == "1"
    assert tags["k8s.io/cluster-autoscaler/main"] == "owned"


EVERY = (
    DWS_POOL,
    NodePool(id="ack", provider=Ack(), machine_type="x", accelerator=L4, max_nodes=2, reservation="eap-1", spot=True),
    NodePool(id="block", provider=Eks(capacity_block=True), machine_type="y", max_nodes=2, reservation="cr-1"),
    NodePool(
        id="self", provider=Eks(managed=False), machine_type="y", accelerator=L4, max_nodes=2, taints=(GPU_TAINT,)
    ),
    NodePool(id="gke", provider=Gke(gvnic=True, flex_start=True, compact_placement=True), max_nodes=2, spot=True),
)


@pytest.mark.parametrize("document", list(documents(program_of(*EVERY))), ids=lambda d: f"{d.folder}/{d.name}")
def test_arguments_are_in_the_pulumi_schema(document: Document) -> None:
    assert _unknown(document.args, FIELDS[document.type]) == []
    top = FIELDS[document.type]
    assert {name for name in document.supply if name not in top} == set()
    assert not set(document.supply) & set(document.args)


def test_unknown_pulumi_argument_is_detected() -> None:
    fields = FIELDS["gcp:container/nodePool:NodePool"]
    assert _unknown({"node_config": {"machine_typ": "x"}}, fields) == ["node_config.machine_typ"]


def test_flavor_labels_match_pool_labels() -> None:
    pools = (
        DWS_POOL,
        NodePool(
            id="on-request",
            provider=QUEUED.model_copy(update={"node_auto_provisioning": True}),
            machine_type="a2-highgpu-8g",
            accelerator=Accelerator(model="a100", count=8),
            max_nodes=4,
            provisioning=DWS,
        ),
        NodePool(id="l4", provider=Gke(), machine_type="g2-standard-4", accelerator=L4, max_nodes=2),
    )
    program = program_of(*pools, engine=Engine.KUEUE)
    carried = [node_labels(program, pool) for pool in program.pools]
    flavors = [m for m in BACKENDS["kueue"].emit(program).manifests if m["kind"] == "ResourceFlavor"]
    selected = [cast("dict[str, Any]", flavor["spec"]).get("nodeLabels", {}) for flavor in flavors]
    assert any(selected)
    for labels in selected:
        assert any(labels.items() <= nodes.items() for nodes in carried), labels
    on_request = next(pool for pool in program.pools if pool.id == "on-request")
    assert node_labels(program, on_request) == {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}


@pytest.mark.parametrize(
    ("provider", "fields", "expected"),
    [
        (
            Gke(),
            {"machine_type": "g2-standard-4"},
            {"gke-accelerator": "nvidia-l4", "gke-nodepool": "l4", "instance-type": "g2-standard-4"},
        ),
        (Gke(), {"accelerator": H100}, {"gke-accelerator": "nvidia-h100-80gb", "gke-nodepool": "l4"}),
        (Gke(node_auto_provisioning=True), {"machine_type": "g2-standard-4"}, {"gke-accelerator": "nvidia-l4"}),
        (
            Gke(),
            {"machine_type": "e2-standard-4", "accelerator": None},
            {"gke-nodepool": "l4", "instance-type": "e2-standard-4"},
        ),
        (Eks(), {"machine_type": "g6.xlarge"}, {"instance-type": "g6.xlarge"}),
        (Karpenter(), {"machine_type": "g6.xlarge"}, {"instance-gpu-name": "l4", "instance-type": "g6.xlarge"}),
        (Karpenter(), {}, {"instance-gpu-name": "l4"}),
        (Ack(), {"machine_type": "ecs.gn7i-c8g1.2xlarge"}, {"instance-type": "ecs.gn7i-c8g1.2xlarge"}),
        (Ack(pool_type="lingjun"), {"machine_type": "ebmgn7v"}, {}),
        (Fixed(), {"machine_type": "rack"}, {}),
        (Gke(), {"machine_type": "no label"}, {"gke-nodepool": "l4"}),
    ],
)
def test_provider_labels_are_on_every_node(
    provider: Gke | Eks | Karpenter | Ack | Fixed, fields: Mapping[str, Any], expected: Mapping[str, str]
) -> None:
    pool = NodePool(**{"id": "l4", "provider": provider, "accelerator": L4, "max_nodes": 2, **fields})
    program = program_of(pool)
    found = provider_labels(program.pools[0])
    assert {key.rpartition("/")[2]: value for key, value in found.items()} == expected
    assert found.items() <= node_labels(program, program.pools[0]).items()
    assert not set(found) & set(set_labels(program, program.pools[0]))


def test_flavor_has_the_usual_provider_labels() -> None:
    h100 = NodePool(id="h100", provider=Gke(), machine_type="a3-highgpu-8g", accelerator=H100, max_nodes=4)
    small = NodePool(id="l4", provider=Gke(), machine_type="g2-standard-4", accelerator=L4, max_nodes=2)
    large = small.model_copy(update={"id": "l4-large", "machine_type": "g2-standard-8"})
    flavors = {
        name: cast("dict[str, Any]", m["spec"]).get("nodeLabels", {})
        for m in BACKENDS["kueue"].emit(program_of(h100, small, large, engine=Engine.KUEUE)).manifests
        if m["kind"] == "ResourceFlavor" and (name := cast("dict[str, Any]", m["metadata"])["name"])
    }
    accelerator, machine = "cloud.google.com/gke-accelerator", "node.kubernetes.io/instance-type"
    assert (flavors["h100"][accelerator], flavors["h100"][machine]) == ("nvidia-h100-80gb", "a3-highgpu-8g")
    # The machines of one flavor are of two types: its pods may run on either.
    assert flavors["l4"] == {"apportion.dev/gpu-model": "l4", accelerator: "nvidia-l4"}


def test_kai_shards_match_node_labels() -> None:
    h100 = NodePool(id="h100", provider=Gke(), machine_type="a3-highgpu-8g", accelerator=H100, max_nodes=4)
    l4 = NodePool(id="l4", provider=Gke(), machine_type="g2-standard-4", accelerator=L4, max_nodes=2)
    program = program_of(h100, l4)
    shards = [m for m in BACKENDS["kai"].emit(program).manifests if m["kind"] == "SchedulingShard"]
    named = {cast("dict[str, Any]", shard["spec"])["partitionLabelValue"] for shard in shards}
    carried = {node_labels(program, pool)["kai.scheduler/node-pool"] for pool in program.pools}
    assert named == {"", *carried}


def test_labels_of_the_provider_are_not_set_again() -> None:
    pool = NodePool(
        id="l4",
        provider=Gke(),
        accelerator=L4,
        max_nodes=2,
        labels={"cloud.google.com/gke-accelerator": "nvidia-l4", "tier": "gold"},
    )
    program = program_of(pool)
    config = cast("dict[str, Any]", next(iter(documents(program))).args["node_config"])
    assert config["labels"] == {"tier": "gold", "apportion.dev/node-pool": "l4", "apportion.dev/gpu-model": "l4"}


def test_labels_of_unmanaged_nodes_are_listed() -> None:
    rack = NodePool(id="rack", accelerator=L4, max_nodes=2, taints=(GPU_TAINT,))
    program = program_of(rack)
    (listed,) = node_label_list(program)
    assert "apportion.dev/node-pool: rack" in listed.content
    assert "nvidia.com/gpu=present:NoSchedule" in listed.content
    assert list(node_label_list(program_of(DWS_POOL))) == []


def test_node_pool_target_requires_a_provider() -> None:
    rack = NodePool(id="rack", max_nodes=2)
    assert [t.backend for t in targets_of(policy_of(rack))] == ["kai", "native"]
    assert [t.backend for t in targets_of(policy_of(rack, DWS_POOL))] == ["kai", "native", "node-pools"]
    assert [t.backend for t in targets_of(policy_of(DWS_POOL), (), ("node-pools",))] == ["node-pools"]


@pytest.mark.parametrize(
    "id_", ["h100", "a" * 40, "a" * 41, "8-gpus", "x-", "l4-shared-by-the-notebooks-of-every-department"]
)
def test_gke_name_is_valid(id_: str) -> None:
    name = gke_name(id_)
    assert len(name) <= 40
    assert name[0].isalpha()
    assert name[-1].isalnum()
    assert (name == id_) == (len(id_) <= 40 and id_[0].isalpha() and id_[-1].isalnum())


def test_long_gke_names_stay_distinct() -> None:
    assert gke_name("a" * 60) != gke_name("a" * 61)


def test_static_karpenter_pool_is_limited_by_nodes() -> None:
    static = NodePool(id="s", provider=Karpenter(static_nodes=True), accelerator=H100, min_nodes=2, max_nodes=2)
    dynamic = replace(program_of(static), pools=())
    assert emit(dynamic).manifests == ()
    (manifest,) = emit(program_of(static)).manifests
    spec = cast("dict[str, Any]", manifest["spec"])
    assert spec["replicas"] == 2
    assert spec["limits"] == {"nodes": "2"}


def _unknown(args: object, fields: Any, path: str = "") -> list[str]:
    """Return the paths of arguments that are not among the fields."""
    if isinstance(args, list):
        return [found for item in args for found in _unknown(item, fields, path)]
    if not isinstance(args, Mapping) or fields == "*":
        return []
    found: list[str] = []
    for key, value in args.items():
        at = f"{path}.{key}".lstrip(".")
        found += _unknown(value, fields[key], at) if key in fields else [at]
    return found
