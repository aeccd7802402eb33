"""Interpretation of Volcano's amounts, and the limitations in the table of capabilities.

`share` and `usable` are simple reimplementations of the capacity plugin (pkg/scheduler/plugins/capacity/capacity.go at
ed72c7c81: updateQueueAttrShare and checkHierarchicalQueue).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
import yaml

from apportion_api.objects import read_all
from apportion_api.volcano.objects import Queue as VolcanoQueue
from apportion_compiler.engines.volcano.emit import emit, refusals
from apportion_compiler.engines.volcano.reader import READER
from apportion_compiler.engines.volcano.rules.queue_tree import capability, deserved, guarantee
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import (
    BINPACK,
    SPREAD,
    UNLIMITED,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Placement,
    Policy,
    Queue,
    Resources,
    Topology,
)

GPU = "nvidia.com/gpu"
Manifest = Mapping[str, Any]


def _program(*queues: Queue, version: str = "1.16.0", **cluster: Any) -> Program:
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=queues,
        environments=(
            Environment(
                name="prod",
                clusters=(Cluster(name="main", engine=Engine.VOLCANO, engine_version=version, **cluster),),
            ),
        ),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, graph.scopes[-1])


def _queues(program: Program) -> dict[str, VolcanoQueue]:
    return {queue.name: queue for queue in read_all(VolcanoQueue, emit(program).manifests)}


def _configuration(program: Program, name: str = "volcano-scheduler") -> dict[str, Any]:
    maps = [m for m in emit(program).manifests if m["kind"] == "ConfigMap"]
    (content,) = (data for m in maps for key, data in m["data"].items() if key == f"{name}.conf")
    document: dict[str, Any] = yaml.safe_load(content)
    return document


def _plugins(program: Program) -> dict[str, dict[str, Any]]:
    return {p["name"]: p for tier in _configuration(program)["tiers"] for p in tier["plugins"]}


def share(queue: VolcanoQueue, allocated: Mapping[str, int]) -> float:
    """The larger a queue's share, the later it gets more."""
    shares = [allocated.get(name, 0) / amount for name, amount in deserved(queue).items() if amount]
    return max(shares, default=1)


def usable(queues: Mapping[str, VolcanoQueue], resource: str) -> dict[str, float]:
    """What each queue may use at most, whatever the others use."""
    most: dict[str, float] = {"root": math.inf}
    for name, queue in queues.items():
        above = queue.parent or "root"
        kept = sum(guarantee(q).get(resource, 0) for q in queues.values() if q.parent == above)
        own = guarantee(queue).get(resource, 0)
        most[name] = min(max(most[above] - kept, 0) + own, capability(queue).get(resource, math.inf))
    return most


TEAMS = (
    Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu=8), lending_limit=Resources(gpu=2)),
    Queue(id="speech", namespaces=("speech",), guaranteed=Resources(gpu=4)),
)


def test_lending_limit_reserves_quota_below_a_limit() -> None:
    queues = _queues(_program(Queue(id="research", limit=Resources(gpu=16), children=TEAMS)))
    assert guarantee(queues["vision"]) == {GPU: 6000}
    assert guarantee(queues["research"]) == {GPU: 6000}
    assert usable(queues, GPU)["speech"] == 10_000


def test_lending_limit_of_top_queues_is_approximated() -> None:
    """The approximation of lending limits: the value is written and read back, and nobody keeps it idle."""
    program = _program(*TEAMS)
    queues = _queues(program)
    assert usable(queues, GPU)["speech"] == math.inf
    (vision,) = (q for q in READER.read(emit(program).manifests).queues if q.id == "vision")
    assert (vision.guaranteed["gpu"], vision.lending_limit["gpu"]) == (8000, 2000)


def test_inner_queue_reserves_the_sum_of_its_children() -> None:
    read = {q.id: q for q in READER.read(emit(_program(Queue(id="research", children=TEAMS))).manifests).queues}
    assert read["research"].lending_limit == {}
    said = Queue(id="research", lending_limit=Resources(gpu=1), children=TEAMS)
    program = _program(said)
    assert guarantee(_queues(program)["research"]) == {GPU: 11_000}
    read = {q.id: q for q in READER.read(emit(program).manifests).queues}
    assert read["research"].lending_limit == {"gpu": 1000}


def test_weight_is_emitted_without_effect() -> None:
    """The approximation of weights: the whole number is read back, and the order of queues does not know it."""
    heavy, light = (replace_weight(TEAMS[1], weight) for weight in ("3.5", "0"))
    programs = [_program(queue) for queue in (heavy, light)]
    queues = [_queues(program)["speech"] for program in programs]
    assert [q.weight for q in queues] == [4, 1]
    assert [READER.read(emit(p).manifests).queues[0].weight["gpu"] for p in programs] == [4000, 1000]
    assert share(queues[0], {GPU: 3000}) == share(queues[1], {GPU: 3000}) == 0.75


def replace_weight(queue: Queue, weight: str) -> Queue:
    return queue.model_copy(update={"over_quota_weight": weight})


def test_priority_of_inner_queue_is_not_inherited() -> None:
    """The approximation of priorities: each is read back, and a leaf does not take its parent's."""
    queues = _queues(_program(Queue(id="research", priority=300, children=TEAMS)))
    assert [q.priority for q in queues.values()] == [300, None, None]


def test_every_device_is_listed_for_reclaim() -> None:
    queues = _queues(_program(*TEAMS, Queue(id="interns", namespaces=("interns",))))
    assert queues["interns"].deserved == {GPU: "0"}


def test_limit_above_parent_is_capped() -> None:
    child = Queue(id="vision", namespaces=("vision",), limit=Resources(cpu=20))
    queues = _queues(_program(Queue(id="research", limit=Resources(cpu=10), children=(child,))))
    assert queues["vision"].capability == {"cpu": "10"}


@pytest.mark.parametrize(
    ("declared", "written"), [("0", {"cpu": "1m", "memory": "1"}), ("4", {"cpu": "4", "memory": "4"})]
)
def test_zero_limit_is_the_smallest_amount(declared: str, written: dict[str, str]) -> None:
    program = _program(Queue(id="a", namespaces=("a",), limit=Resources(cpu=declared, memory=declared)))
    assert _queues(program)["a"].capability == written
    scale = 1000 * int(declared)
    assert READER.read(emit(program).manifests).queues[0].limit == {"cpu": scale, "memory": int(declared)}


def test_scheduler_configuration_enforces_the_tree() -> None:
    program = _program(Queue(id="research", children=TEAMS))
    configuration = _configuration(program)
    assert configuration["actions"] == "enqueue, allocate, preempt, reclaim, backfill"
    assert len(configuration["tiers"]) == 1
    plugins = _plugins(program)
    assert plugins["capacity"] == {
        "name": "capacity",
        "enableHierarchy": True,
        "arguments": {"ancestorReclaimLevel": 1},
    }
    assert plugins["gang"]["enableReclaimable"] is False
    assert not plugins.keys() & {"proportion", "nodegroup", "network-topology-aware"}


def test_flat_tree_disables_hierarchy() -> None:
    assert "arguments" not in _plugins(_program(*TEAMS))["capacity"]


@pytest.mark.parametrize("gpu", [BINPACK, SPREAD])
@pytest.mark.parametrize("cpu", [BINPACK, SPREAD])
@pytest.mark.parametrize("version", ["1.12.0", "1.16.0"])
def test_placement_round_trips(gpu: Any, cpu: Any, version: str) -> None:
    program = _program(*TEAMS, version=version, placement=Placement(gpu=gpu, cpu=cpu))
    cluster = READER.read(emit(program).manifests).cluster
    assert (cluster.gpu_placement, cluster.cpu_placement) == (gpu.value, cpu.value)


def test_topologies_end_at_the_host_with_short_names() -> None:
    program = _program(
        *TEAMS,
        topologies=(
            Topology(name="racks", levels=("example.com/block", "example.com/rack")),
            Topology(name="a-topology-with-a-long-name", levels=("example.com/row", "kubernetes.io/hostname")),
        ),
    )
    discovery = _configuration(program, "volcano-controller")["networkTopologyDiscovery"]
    types = discovery[0]["config"]["networkTopologyTypes"]
    assert [level["nodeLabel"] for level in types["racks"]][-1] == "kubernetes.io/hostname"
    assert all(len(name) <= 20 for name in types)
    read = {t.name: t.levels for t in READER.read(emit(program).manifests).topologies}
    assert read["racks"] == ("example.com/block", "example.com/rack", "kubernetes.io/hostname")


def test_queue_without_pools_selects_no_node() -> None:
    pools = tuple(NodePool(id=id_, cpu=4, memory="8Gi", max_nodes=1) for id_ in ("old", "new"))
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        node_pools=pools,
        queues=(Queue(id="a", namespaces=("a",), pools=("old",)), Queue(id="b", namespaces=("b",), pools=("new",))),
        environments=(
            Environment(
                name="prod",
                clusters=(Cluster(name="main", engine=Engine.VOLCANO, engine_version="1.16", pools=("old",)),),
            ),
        ),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    program = lower(graph, graph.scopes[-1])
    groups = [q.node_groups for q in _queues(program).values()]
    assert groups == [("old",), ("-",)]
    assert _plugins(program)["nodegroup"]["arguments"] == {"strict": False}
    assert [q.pools for q in READER.read(emit(program).manifests).queues] == [("old",), ()]


def test_reserved_volcano_names_are_avoided() -> None:
    program = _program(Queue(id="root", children=(Queue(id="default", namespaces=("a",)),)))
    queues = _queues(program)
    assert not queues.keys() & {"root", "default"}
    assert [q.id for q in READER.read(emit(program).manifests).queues] == ["root", "default"]


def _codes(program: Program) -> list[tuple[str, str]]:
    return [(refusal.code, refusal.address) for refusal in refusals(program)]


def test_amounts_out_of_range_are_refused() -> None:
    program = _program(
        Queue(id="a", children=(Queue(id="b", namespaces=("b",), guaranteed=Resources(gpu=UNLIMITED)),)),
        Queue(id="c", namespaces=("c",), limit=Resources(gpu="0.5")),
    )
    assert _codes(program) == [("AP519", "queue b"), ("AP519", "queue c")]


def test_features_missing_from_older_versions_are_refused() -> None:
    racks = Topology(name="racks", levels=("example.com/rack", "kubernetes.io/hostname"))
    program = _program(*TEAMS, version="1.12.0", topologies=(racks,), placement=Placement(gpu=SPREAD, cpu=SPREAD))
    assert _codes(program) == [("AP511", "topology racks"), ("AP516", "cluster prod/main")]
    assert _codes(replace(program, engine_version="1.13.0")) == []


def _sequence(value: object) -> Sequence[Any]:
    assert isinstance(value, list)
    return value


def test_non_preemptible_work_must_be_annotated() -> None:
    manifests = emit(_program(*TEAMS)).manifests
    policies = {m["metadata"]["name"]: m for m in manifests if m["kind"] == "ValidatingAdmissionPolicy"}
    assert "volcanojobs.apportion.dev" in policies
    messages = [
        v.get("messageExpression", "") for v in _sequence(policies["pods.apportion.dev"]["spec"]["validations"])
    ]
    assert (
        '"label volcano.sh/preemptable is missing: class build requires false; class inference requires false"'
        in messages
    )
