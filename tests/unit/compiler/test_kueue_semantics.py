"""By Kueue's own quota formulas, the emitted amounts have the meaning of the policy.

The model is that of pkg/cache/scheduler/resource_node.go: what a ClusterQueue could use at most with everything idle,
and what is left to it beside the usage of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from apportion_compiler.engines.kueue.emit import BACKEND
from apportion_compiler.engines.kueue.reader import READER
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
    Resources,
    Topology,
)
from apportion_policy.quantity import kubernetes_value

GPU = "nvidia.com/gpu"
TOTAL = "apportion.dev/gpus"
ANY = "any-node"


@dataclass
class Node:
    """A ClusterQueue or Cohort for one flavor and resource."""

    name: str
    parent: str | None
    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None
    usage: int = 0
    children: list[Node] = field(default_factory=list)

    @property
    def subtree(self) -> int:
        return self.nominal + sum(child.subtree - child.local for child in self.children)

    @property
    def local(self) -> int:
        return 0 if self.lending is None else max(0, self.subtree - self.lending)

    @property
    def used(self) -> int:
        return self.usage + sum(max(0, child.used - child.local) for child in self.children)


def available(node: Node, above: Mapping[str, Node]) -> int:
    """What a node can still use."""
    if node.parent is None:
        return node.subtree - node.used
    left = available(above[node.parent], above)
    if node.borrowing is not None:
        left = min(left, node.subtree - node.local - max(0, node.used - node.local) + node.borrowing)
    return max(0, node.local - node.used) + left


def tree(program: Program, flavor: str, resource: str) -> dict[str, Node]:
    """The tree of one flavor and resource, by kind and name."""
    nodes: dict[str, Node] = {}
    for manifest in BACKEND.emit(program).manifests:
        kind, spec = manifest["kind"], manifest.get("spec")
        if kind not in ("Cohort", "ClusterQueue"):
            continue
        assert isinstance(spec, dict)
        name = manifest["metadata"]["name"]
        node = Node(name, spec.get("parentName") or spec.get("cohortName"))
        for quota in _quotas(spec, flavor, resource):
            node.nominal = int(kubernetes_value(quota["nominalQuota"]))
            for limit, attribute in (("borrowingLimit", "borrowing"), ("lendingLimit", "lending")):
                if limit in quota:
                    setattr(node, attribute, int(kubernetes_value(quota[limit])))
        nodes[name] = node
    for node in nodes.values():
        if node.parent is not None:
            nodes[node.parent].children.append(node)
    return nodes


def _quotas(spec: Mapping[str, Any], flavor: str, resource: str) -> list[dict[str, str]]:
    return [
        quota
        for group in spec.get("resourceGroups", ())
        for held in group["flavors"]
        for quota in held["resources"]
        if (held["name"], quota["name"]) == (flavor, resource)
    ]


def pool(name: str, model: str | None, nodes: int, **more: Any) -> NodePool:
    gpus: dict[str, Any] = (
        {} if model is None else {"accelerator": Accelerator(model=model, count=8), "taints": (GPU_TAINT,)}
    )
    return NodePool(id=name, cpu=100, memory="1000Gi", max_nodes=nodes, **gpus, **more)


def program(queues: Sequence[Queue], *pools: NodePool, **more: Any) -> Program:
    plans = more.pop("plans", ())
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=tuple(queues),
        node_pools=pools,
        provisioning_plans=plans,
        environments=(
            Environment(
                name="prod",
                clusters=(
                    Cluster(
                        name="main",
                        engine=Engine.KUEUE,
                        engine_version="0.18.3",
                        pools=tuple(p.id for p in pools),
                        **more,
                    ),
                ),
            ),
        ),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, graph.scopes[0])


H100 = pool("h100", "h100", 8)
ORDINARY = pool("ordinary", None, 4)
TREE = (
    Queue(
        id="research",
        guaranteed=Resources(gpu=40),
        limit=Resources(gpu=48),
        children=(
            Queue(id="vision", namespaces=("v",), guaranteed=Resources(gpu=24), limit=Resources(gpu=32)),
            Queue(id="speech", namespaces=("s",), guaranteed=Resources(gpu=8), lending_limit=Resources(gpu=2)),
        ),
    ),
    Queue(id="ads", namespaces=("a",), guaranteed=Resources(gpu=8)),
)


@pytest.mark.parametrize(
    ("queue", "most"),
    [
        ("vision", 32),  # its own limit
        ("speech", 48),  # its parent's
        ("ads", 58),  # all 64 but what `speech` keeps for itself
    ],
)
def test_single_queue_is_bounded_by_limits_and_capacity(queue: str, most: int) -> None:
    nodes = tree(program(TREE, H100, ORDINARY), "h100", GPU)
    assert available(nodes[queue], nodes) == most


def test_nominal_quotas_sum_to_capacity() -> None:
    nodes = tree(program(TREE, H100, ORDINARY), "h100", GPU)
    assert sum(node.nominal for node in nodes.values()) == 64
    assert [nodes[name].nominal for name in ("main", "research", "vision", "speech", "ads")] == [16, 8, 24, 8, 8]


def test_subtree_limit_covers_all_descendants() -> None:
    nodes = tree(program(TREE, H100, ORDINARY), "h100", GPU)
    nodes["speech"].usage = 20
    assert available(nodes["vision"], nodes) == 28


def test_lending_limit_reserves_quota() -> None:
    nodes = tree(program(TREE, H100, ORDINARY), "h100", GPU)
    nodes["ads"].usage = 58
    assert available(nodes["speech"], nodes) == 6
    assert available(nodes["vision"], nodes) == 0


def test_departments_share_idle_quota() -> None:
    queues = (
        Queue(id="one", namespaces=("a",), guaranteed=Resources(gpu=8)),
        Queue(id="two", namespaces=("b",), guaranteed=Resources(gpu=8)),
    )
    nodes = tree(program(queues), ANY, GPU)
    assert available(nodes["one"], nodes) == 16


MODELS = (
    Queue(
        id="vision",
        namespaces=("v",),
        guaranteed=Resources(gpu={"h100": 16}),
        limit=Resources(gpu=24),
    ),
    Queue(id="speech", namespaces=("s",), guaranteed=Resources(gpu={"a100": 8})),
    Queue(id="ads", namespaces=("a",), guaranteed=Resources(gpu=12)),
)
A100 = pool("a100", "a100", 4)


def test_guarantee_without_model_is_assigned_to_free_flavors() -> None:
    """Read back it is the promise in all; what is lost is that work of another model has to borrow."""
    made = program(MODELS, pool("h100", "h100", 3), A100, ORDINARY)
    assert tree(made, "a100", GPU)["ads"].nominal == 12
    assert tree(made, "h100", GPU)["ads"].nominal == 0
    assert _record(made)["ads"].guaranteed["gpu"] == 12_000


def test_limit_without_model_covers_all_flavors() -> None:
    """Read back it is the limit; what is lost without the manager's configuration is that only each model holds it."""
    made = program(MODELS, H100, A100, ORDINARY)
    total = tree(made, ANY, TOTAL)
    assert available(total["vision"], total) == 24
    for flavor in ("h100", "a100"):
        nodes = tree(made, flavor, GPU)
        assert available(nodes["vision"], nodes) == 24
    record = _record(made)["vision"]
    assert (record.limit, record.guaranteed["gpu/h100"]) == ({"gpu": 24_000}, 16_000)
    configuration = next(a.content for a in BACKEND.emit(made).artifacts if a.name == "controller_manager_config.yaml")
    assert "apportion.dev/gpus: '1'" in configuration


DWS = ProvisioningPlan(id="dws", max_run_duration="1d")


def _queued(**guaranteed: Any) -> Program:
    return program(
        (
            Queue(id="vision", namespaces=("v",), guaranteed=Resources(**guaranteed), limit=Resources(gpu=100)),
            Queue(id="speech", namespaces=("s",), guaranteed=Resources(gpu=4)),
        ),
        pool("reserved", "h100", 2, provider=Gke()),
        pool("queued", "h100", 20, provider=Gke(), provisioning="dws"),
        ORDINARY,
        plans=(DWS,),
    )


def test_guarantee_is_assigned_to_existing_capacity() -> None:
    made = _queued(gpu=12)
    assert tree(made, "reserved", GPU)["vision"].nominal == 12
    assert tree(made, "queued", GPU)["main"].nominal == 160


def test_guarantee_is_split_across_flavors() -> None:
    """Read back it is whole; what is lost is that the pods of one kind use one part of it."""
    made = program(
        (Queue(id="vision", namespaces=("v",), guaranteed=Resources(gpu=170)),),
        pool("reserved", "h100", 2, provider=Gke()),
        pool("queued", "h100", 20, provider=Gke(), provisioning="dws"),
        plans=(DWS,),
    )
    parts = [tree(made, flavor, GPU)["vision"].nominal for flavor in ("reserved", "queued")]
    assert parts == [16, 154]
    assert _record(made)["vision"].guaranteed["gpu"] == 170_000


def test_model_limit_is_split_across_its_flavors() -> None:
    """Read back it is whole; what is lost is that neither part can be used for the other."""
    made = program(
        (
            Queue(
                id="vision",
                namespaces=("v",),
                guaranteed=Resources(gpu={"h100": 8}),
                limit=Resources(gpu={"h100": 40, "l4": 0}),
            ),
        ),
        pool("reserved", "h100", 2, provider=Gke()),
        pool("queued", "h100", 20, provider=Gke(), provisioning="dws"),
        pool("l4", "l4", 1),
        plans=(DWS,),
    )
    held = [tree(made, flavor, GPU)["vision"] for flavor in ("reserved", "queued")]
    assert sum(node.nominal + (node.borrowing or 0) for node in held) == 40
    assert _record(made)["vision"].limit["gpu/h100"] == 40_000


def test_admission_checks_apply_to_queued_flavors() -> None:
    (queue,) = [m for m in BACKEND.emit(_queued(gpu=12)).manifests if m["kind"] == "ClusterQueue"][1:]
    spec = queue["spec"]
    assert isinstance(spec, dict)
    assert spec["admissionChecksStrategy"] == {"admissionChecks": [{"name": "dws", "onFlavors": ["queued"]}]}


def test_queue_uses_the_flavors_of_its_pools() -> None:
    """What is lost: any-node is every node, so that pools without GPUs are everybody's."""
    made = program(
        (
            Queue(id="vision", namespaces=("v",), pools=("a100",), guaranteed=Resources(gpu={"a100": 8})),
            Queue(id="speech", namespaces=("s",), guaranteed=Resources(gpu={"h100": 8})),
        ),
        H100,
        A100,
        ORDINARY,
    )
    assert _record(made)["vision"].pools == ("a100",)
    assert _record(made)["speech"].pools is None


RACKS = Topology(name="racks", levels=("example.com/rack", "kubernetes.io/hostname"))
PLACED = (
    Queue(
        id="vision", namespaces=("v",), guaranteed=Resources(cpu=300, memory="1Ti", gpu=16), limit=Resources(cpu=400)
    ),
)


def test_topology_puts_cpu_and_gpus_in_one_group() -> None:
    made = program(PLACED, pool("h100", "h100", 8, topology="racks"), ORDINARY, topologies=(RACKS,))
    groups = [m["spec"]["resourceGroups"] for m in BACKEND.emit(made).manifests if m["kind"] == "ClusterQueue"]
    assert [len(group) for group in groups] == [1]
    record = _record(made)["vision"]
    assert (record.guaranteed["cpu"], record.limit["cpu"], record.guaranteed["gpu"]) == (300_000, 400_000, 16_000)
    flavors = [m for m in BACKEND.emit(made).manifests if m["kind"] == "ResourceFlavor"]
    assert all("topologyName" in flavor["spec"] for flavor in flavors)


def test_autoscaled_pool_disables_topologies() -> None:
    pools = (pool("h100", "h100", 8, topology="racks"), pool("growing", None, 4, provider=Gke()))
    made = program(PLACED, *pools, topologies=(RACKS,))
    manifests = BACKEND.emit(made).manifests
    assert all("topologyName" not in m["spec"] for m in manifests if m["kind"] == "ResourceFlavor")
    assert [m["kind"] for m in manifests if m["kind"] == "Topology"] == ["Topology"]
    assert [refusal.code for refusal in BACKEND.refusals(made)] == ["AP511"]


def test_changed_levels_rename_topology_and_flavor() -> None:
    def names(levels: tuple[str, ...]) -> set[str]:
        topology = Topology(name="racks", levels=levels)
        made = program(PLACED, pool("h100", "h100", 8, topology="racks"), topologies=(topology,))
        manifests = [m for m in BACKEND.emit(made).manifests if m["kind"] in ("Topology", "ResourceFlavor")]
        return {f"{m['kind']} {m['metadata']['name']}" for m in manifests}

    assert names(RACKS.levels).isdisjoint(names(("example.com/block", *RACKS.levels)))


def test_guarantee_above_parent_is_refused() -> None:
    queues = (
        Queue(
            id="research",
            guaranteed=Resources(gpu=8),
            children=(Queue(id="vision", namespaces=("v",), guaranteed=Resources(gpu=12)),),
        ),
    )
    (refusal,) = BACKEND.refusals(program(queues, H100))
    assert (refusal.code, refusal.address) == ("AP506", "queue research")


def test_fractional_gpu_is_refused() -> None:
    queues = (Queue(id="vision", namespaces=("v",), guaranteed=Resources(gpu="2.5")),)
    assert [refusal.code for refusal in BACKEND.refusals(program(queues, H100))] == ["AP519"]


def _record(made: Program) -> dict[str, Any]:
    return {queue.id: queue for queue in READER.read(BACKEND.emit(made).manifests).queues}
