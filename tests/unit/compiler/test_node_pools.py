"""Node pools: the scripts as a shell runs them, the documents' fields, and that engines select what pools carry."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.nodepools import documents, emit
from apportion_compiler.backends.nodepools.document import Document
from apportion_compiler.backends.nodepools.names import gke_name
from apportion_compiler.backends.pool_labels import declared_labels, node_labels, provider_labels, set_labels
from apportion_compiler.engines.native.emit.node_labels import node_label_list
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_compiler.targets import targets_of
from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Ack,
    Cluster,
    Eks,
    Engine,
    Environment,
    Fixed,
    Gke,
    Karpenter,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
    Resources,
    Taint,
)

FIELDS: Mapping[str, Any] = json.loads((Path(__file__).parent / "pulumi_fields.json").read_text(encoding="utf-8"))
DWS = ProvisioningPlan(id="dws")
QUEUED = Gke(
    release_channel="none", auto_repair=False, auto_upgrade=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8, provider_name="nvidia-h100-80gb")
L4 = Accelerator(model="l4", count=1)
HOSTILE = "gpu $(touch broken) `id` \"x\" 'y' ; & | \\ *"


def _policy(*pools: NodePool, engine: Engine = Engine.KAI, cluster: str = "main") -> Policy:
    return Policy(
        organisation=Organisation(name="acme"),
        queues=(Queue(id="a", namespaces=("a",), guaranteed=Resources(gpu={"h100": 8, "l4": 1})),),
        node_pools=pools,
        provisioning_plans=(DWS,),
        environments=(
            Environment(
                name="prod", clusters=(Cluster(name=cluster, engine=engine, engine_version="1.0", pools=pools),)
            ),
        ),
    )


def _program(*pools: NodePool, engine: Engine = Engine.KAI, cluster: str = "main") -> Program:
    graph = build_graph(declare(_policy(*pools, engine=engine, cluster=cluster)), date(2026, 11, 21))
    return lower(graph, next(scope for scope in graph.scopes if scope.cluster is not None))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[list[str]]]:
    """Run a script with tools that only note their arguments, and say whether what is asked for exists."""
    noted = tmp_path / "noted"

    def run(program: Program, name: str, *, exists: bool, **variables: str) -> list[list[str]]:
        for tool in ("gcloud", "aws", "aliyun"):
            path = tmp_path / tool
            answer = "exit 0" if exists else 'case "$*" in *describe*) exit 1;; esac'
            noting = '{ for word in "$@"; do printf "%s\\0" "$word"; done; printf "\\n\\0"; } >>"$NOTED"'
            path.write_text(f"#!/bin/sh\n{noting}\n{answer}\n", encoding="utf-8")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        script = tmp_path / "apply.sh"
        texts = {artifact.name: artifact.content for artifact in emit(program).artifacts}
        script.write_text(texts[name], encoding="utf-8")
        noted.unlink(missing_ok=True)
        finished = subprocess.run(
            ["sh", str(script)],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "NOTED": str(noted), **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        assert {path.name for path in tmp_path.iterdir()} <= {"gcloud", "aws", "aliyun", "apply.sh", "noted"}
        calls = noted.read_text(encoding="utf-8").split("\n\0")[:-1]
        return [call.split("\0")[:-1] for call in calls]

    return run


WHERE = ["--cluster=main", "--location=europe-west4", "--project=acme"]
GCLOUD = {"LOCATION": "europe-west4", "PROJECT": "acme"}
DWS_POOL = NodePool(
    id="dws",
    provider=QUEUED,
    machine_type="a3-highgpu-8g",
    accelerator=H100,
    max_nodes=16,
    provisioning=DWS,
    taints=(GPU_TAINT,),
)


def test_a_queued_pool_is_created_with_the_flags_that_gke_asks_for(run: Any) -> None:
    described, created = run(_program(DWS_POOL), "gke/apply.sh", exists=False, **GCLOUD)
    assert described == ["container", "node-pools", "describe", "dws", *WHERE]
    assert created == [
        *("beta", "container", "node-pools", "create", "dws", *WHERE),
        "--enable-queued-provisioning",
        "--accelerator=type=nvidia-h100-80gb,count=8,gpu-driver-version=default",
        "--machine-type=a3-highgpu-8g",
        "--num-nodes=0",
        "--enable-autoscaling",
        "--total-min-nodes=0",
        "--total-max-nodes=16",
        "--location-policy=ANY",
        "--no-enable-autorepair",
        "--no-enable-autoupgrade",
        "--reservation-affinity=none",
        "--node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=dws",
        "--node-taints=nvidia.com/gpu=present:NoSchedule",
    ]


def test_an_existing_pool_is_updated_one_group_of_settings_at_a_time(run: Any) -> None:
    calls = run(_program(DWS_POOL), "gke/apply.sh", exists=True, **GCLOUD)
    update = ["container", "node-pools", "update", "dws", *WHERE]
    assert [call[len(update) :] for call in calls if call[: len(update)] == update] == [
        ["--no-enable-autorepair", "--no-enable-autoupgrade"],
        ["--enable-autoscaling", "--total-min-nodes=0", "--total-max-nodes=16", "--location-policy=ANY"],
        ["--node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=dws"],
    ]
    # The fake gcloud says nothing, so queued provisioning is taken to be off.
    assert calls[-1] == ["beta", *update, "--enable-queued-provisioning"]
    assert not any("create" in call for call in calls)


def test_an_update_of_taints_keeps_the_one_that_gke_added(run: Any) -> None:
    tainted = NodePool(
        id="l4",
        provider=Gke(),
        machine_type="g2-standard-4",
        accelerator=L4,
        max_nodes=2,
        taints=(Taint(key="team", value="a"),),
    )
    ordinary = NodePool(id="ordinary", provider=Gke(), machine_type="e2-standard-8", max_nodes=2)
    calls = run(_program(tainted, ordinary), "gke/apply.sh", exists=True, **GCLOUD)
    taints = [word for call in calls for word in call if word.startswith("--node-taints")]
    assert taints == ["--node-taints=team=a:NoSchedule,nvidia.com/gpu=present:NoSchedule"]
    alone = run(_program(tainted), "gke/apply.sh", exists=True, **GCLOUD)
    assert [w for call in alone for w in call if w.startswith("--node-taints")] == ["--node-taints=team=a:NoSchedule"]


def test_no_value_escapes_its_quotes(run: Any) -> None:
    pool = NodePool(
        id="l4",
        provider=Gke(reservation_affinity="specific"),
        machine_type=HOSTILE,
        accelerator=Accelerator(model="l4", count=1, provider_name=HOSTILE),
        max_nodes=2,
        zones=(HOSTILE,),
        reservation=HOSTILE,
    )
    _, created = run(_program(pool, cluster=HOSTILE), "gke/apply.sh", exists=False, **GCLOUD)
    assert f"--cluster={HOSTILE}" in created
    assert {f"--machine-type={HOSTILE}", f"--node-locations={HOSTILE}", f"--reservation={HOSTILE}"} <= set(created)
    assert f"--accelerator=type={HOSTILE},count=1,gpu-driver-version=default" in created


def test_a_coordinate_that_is_missing_is_named(tmp_path: Path) -> None:
    script = tmp_path / "apply.sh"
    script.write_text(next(a.content for a in emit(_program(DWS_POOL)).artifacts if a.name.endswith(".sh")))
    finished = subprocess.run(["sh", str(script)], env={}, capture_output=True, text=True, check=False)
    assert finished.returncode != 0
    assert "LOCATION: set it to the region or zone of the cluster" in finished.stderr


def test_groups_of_eks_are_made_and_updated(run: Any) -> None:
    pool = NodePool(
        id="g6",
        provider=Eks(subnets=("subnet-1",), node_role="arn:role"),
        machine_type="g6.xlarge",
        accelerator=L4,
        max_nodes=3,
        taints=(GPU_TAINT,),
    )
    program = _program(pool)
    _, created = run(program, "eks/apply.sh", exists=False)
    assert created[:5] == [
        "eks",
        "create-nodegroup",
        "--cluster-name=main",
        "--nodegroup-name=g6",
        "--node-role=arn:role",
    ]
    assert json.loads(_value(created, "labels")) == declared_labels(program, program.pools[0])
    assert json.loads(_value(created, "taints")) == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    ]
    assert _value(created, "ami-type") == "AL2023_x86_64_NVIDIA"
    _, updated = run(program, "eks/apply.sh", exists=True)
    assert updated[:2] == ["eks", "update-nodegroup-config"]
    assert json.loads(_value(updated, "scaling-config")) == {"minSize": 0, "maxSize": 3}


@pytest.mark.skipif(shutil.which("jq") is None, reason="the script of ACK needs jq")
def test_pools_of_ack_are_made(run: Any) -> None:
    pool = NodePool(
        id="l20", provider=Ack(), machine_type=HOSTILE, accelerator=L4, max_nodes=3, taints=(GPU_TAINT,), spot=True
    )
    program = _program(pool)
    _, created = run(program, "ack/apply.sh", exists=True, CLUSTER_ID="c1", VSWITCH_IDS='["vsw-1"]')
    assert created[:4] == ["cs", "POST", "/clusters/c1/nodepools", "--body"]
    body = json.loads(created[4])
    assert body["scaling_group"] == {
        "spot_strategy": "SpotAsPriceGo",
        "instance_types": [HOSTILE],
        "vswitch_ids": ["vsw-1"],
    }
    labels = {label["key"]: label["value"] for label in body["kubernetes_config"]["labels"]}
    assert labels == declared_labels(program, program.pools[0])


def test_a_group_that_the_autoscaler_scales_says_what_its_nodes_would_be() -> None:
    pool = NodePool(
        id="self",
        provider=Eks(managed=False),
        machine_type="g6.xlarge",
        accelerator=L4,
        max_nodes=3,
        taints=(GPU_TAINT,),
    )
    program = _program(pool)
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


@pytest.mark.parametrize("document", list(documents(_program(*EVERY))), ids=lambda d: f"{d.folder}/{d.name}")
def test_every_argument_is_one_that_pulumi_knows(document: Document) -> None:
    assert _unknown(document.args, FIELDS[document.type]) == []
    top = FIELDS[document.type]
    assert {name for name in document.supply if name not in top} == set()
    assert not set(document.supply) & set(document.args)


def test_an_argument_that_pulumi_does_not_know_is_found() -> None:
    fields = FIELDS["gcp:container/nodePool:NodePool"]
    assert _unknown({"node_config": {"machine_typ": "x"}}, fields) == ["node_config.machine_typ"]


def test_a_flavor_selects_nodes_that_the_pool_makes() -> None:
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
    program = _program(*pools, engine=Engine.KUEUE)
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
        (Gke(), {"machine_type": "g2-standard-4"}, {"gke-accelerator": "nvidia-l4", "instance-type": "g2-standard-4"}),
        (Gke(), {"accelerator": H100}, {"gke-accelerator": "nvidia-h100-80gb"}),
        (Gke(node_auto_provisioning=True), {"machine_type": "g2-standard-4"}, {"gke-accelerator": "nvidia-l4"}),
        (Gke(), {"machine_type": "e2-standard-4", "accelerator": None}, {"instance-type": "e2-standard-4"}),
        (Eks(), {"machine_type": "g6.xlarge"}, {"instance-type": "g6.xlarge"}),
        (Karpenter(), {"machine_type": "g6.xlarge"}, {"instance-gpu-name": "l4", "instance-type": "g6.xlarge"}),
        (Karpenter(), {}, {"instance-gpu-name": "l4"}),
        (Ack(), {"machine_type": "ecs.gn7i-c8g1.2xlarge"}, {"instance-type": "ecs.gn7i-c8g1.2xlarge"}),
        (Ack(pool_type="lingjun"), {"machine_type": "ebmgn7v"}, {}),
        (Fixed(), {"machine_type": "rack"}, {}),
        (Gke(), {"machine_type": "no label"}, {}),
    ],
)
def test_labels_of_the_provider_are_those_that_every_node_has(
    provider: Gke | Eks | Karpenter | Ack | Fixed, fields: Mapping[str, Any], expected: Mapping[str, str]
) -> None:
    pool = NodePool(**{"id": "l4", "provider": provider, "accelerator": L4, "max_nodes": 2, **fields})
    program = _program(pool)
    found = provider_labels(program.pools[0])
    assert {key.rpartition("/")[2]: value for key, value in found.items()} == expected
    assert found.items() <= node_labels(program, program.pools[0]).items()
    assert not set(found) & set(set_labels(program, program.pools[0]))


def test_a_flavor_has_what_users_of_the_provider_select_by() -> None:
    h100 = NodePool(id="h100", provider=Gke(), machine_type="a3-highgpu-8g", accelerator=H100, max_nodes=4)
    small = NodePool(id="l4", provider=Gke(), machine_type="g2-standard-4", accelerator=L4, max_nodes=2)
    large = small.model_copy(update={"id": "l4-large", "machine_type": "g2-standard-8"})
    flavors = {
        name: cast("dict[str, Any]", m["spec"]).get("nodeLabels", {})
        for m in BACKENDS["kueue"].emit(_program(h100, small, large, engine=Engine.KUEUE)).manifests
        if m["kind"] == "ResourceFlavor" and (name := cast("dict[str, Any]", m["metadata"])["name"])
    }
    accelerator, machine = "cloud.google.com/gke-accelerator", "node.kubernetes.io/instance-type"
    assert (flavors["h100"][accelerator], flavors["h100"][machine]) == ("nvidia-h100-80gb", "a3-highgpu-8g")
    # The machines of one flavor are of two types: its pods may run on either.
    assert flavors["l4"] == {"apportion.dev/gpu-model": "l4", accelerator: "nvidia-l4"}


def test_shards_of_kai_are_those_that_node_labels_name() -> None:
    h100 = NodePool(id="h100", provider=Gke(), machine_type="a3-highgpu-8g", accelerator=H100, max_nodes=4)
    l4 = NodePool(id="l4", provider=Gke(), machine_type="g2-standard-4", accelerator=L4, max_nodes=2)
    program = _program(h100, l4)
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
    program = _program(pool)
    config = cast("dict[str, Any]", next(iter(documents(program))).args["node_config"])
    assert config["labels"] == {"tier": "gold", "apportion.dev/node-pool": "l4", "apportion.dev/gpu-model": "l4"}


def test_machines_that_nobody_makes_have_their_labels_listed() -> None:
    rack = NodePool(id="rack", accelerator=L4, max_nodes=2, taints=(GPU_TAINT,))
    program = _program(rack)
    (listed,) = node_label_list(program)
    assert "apportion.dev/node-pool: rack" in listed.content
    assert "nvidia.com/gpu=present:NoSchedule" in listed.content
    assert list(node_label_list(_program(DWS_POOL))) == []


def test_the_target_is_there_where_a_pool_has_a_provider() -> None:
    rack = NodePool(id="rack", max_nodes=2)
    assert [t.backend for t in targets_of(_policy(rack))] == ["kai", "native"]
    assert [t.backend for t in targets_of(_policy(rack, DWS_POOL))] == ["kai", "native", "node-pools"]
    assert [t.backend for t in targets_of(_policy(DWS_POOL), (), ("node-pools",))] == ["node-pools"]


@pytest.mark.parametrize(
    "id_", ["h100", "a" * 40, "a" * 41, "8-gpus", "x-", "l4-shared-by-the-notebooks-of-every-department"]
)
def test_names_that_gke_takes(id_: str) -> None:
    name = gke_name(id_)
    assert len(name) <= 40
    assert name[0].isalpha()
    assert name[-1].isalnum()
    assert (name == id_) == (len(id_) <= 40 and id_[0].isalpha() and id_[-1].isalnum())


def test_two_long_names_do_not_meet() -> None:
    assert gke_name("a" * 60) != gke_name("a" * 61)


def test_a_karpenter_pool_that_is_static_has_no_limit_but_nodes() -> None:
    static = NodePool(id="s", provider=Karpenter(static_nodes=True), accelerator=H100, min_nodes=2, max_nodes=2)
    dynamic = replace(_program(static), pools=())
    assert emit(dynamic).manifests == ()
    (manifest,) = emit(_program(static)).manifests
    spec = cast("dict[str, Any]", manifest["spec"])
    assert spec["replicas"] == 2
    assert spec["limits"] == {"nodes": "2"}


def _value(words: list[str], name: str) -> str:
    return next(word.partition("=")[2] for word in words if word.startswith(f"--{name}="))


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
