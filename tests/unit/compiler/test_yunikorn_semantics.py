"""Interpretation of YuniKorn's amounts: refusals of the backend, and existing configurations imported as policies."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
import yaml

from apportion_compiler.backends.partitions import leaf_queue_name
from apportion_compiler.engines.yunikorn import emit as yunikorn
from apportion_compiler.engines.yunikorn.emit.config_map import config_map, queues_text
from apportion_compiler.engines.yunikorn.emit.document import document
from apportion_compiler.engines.yunikorn.names import application_id
from apportion_compiler.engines.yunikorn.reader import READER
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_compiler.readers.record import QueueRecord
from apportion_policy import (
    UNLIMITED,
    Cluster,
    Engine,
    Environment,
    Organisation,
    Placement,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    UserLimit,
)
from apportion_policy.placement import SPREAD


def _program(*queues: Queue, placement: Placement | None = None, **fields: Any) -> Program:
    cluster = Cluster(name="c", engine=Engine.YUNIKORN, engine_version="1.8", placement=placement or Placement())
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=queues,
        environments=(Environment(name="prod", clusters=(cluster,)),),
        **fields,
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, graph.scopes[-1])


def _queues(program: Program) -> dict[str, Any]:
    found: dict[str, Any] = {}
    stack = yaml.safe_load(queues_text(program))["partitions"][0]["queues"]
    while stack:
        queue = stack.pop()
        found[queue["name"]] = queue
        stack.extend(queue.get("queues", ()))
    return found


def _refused(program: Program) -> list[tuple[str, str]]:
    return [(refusal.code, refusal.address) for refusal in yunikorn.refusals(program)]


def test_zero_limit_is_emitted_only_for_gpus() -> None:
    queues = _queues(
        _program(
            Queue(id="gpus", guaranteed=Resources(gpu=8)),
            Queue(id="cores", guaranteed=Resources(cpu=64, memory="1Gi")),
            Queue(id="nothing"),
        )
    )
    assert queues["gpus"]["resources"] == {"guaranteed": {"nvidia.com/gpu": "8"}}
    assert queues["cores"]["resources"] == {
        "guaranteed": {"vcore": "64", "memory": "1Gi", "nvidia.com/gpu": "0"},
    }
    assert "resources" not in queues["nothing"]


def test_zero_limits_stay_limits() -> None:
    queues = _queues(_program(Queue(id="a", limit=Resources(gpu=0)), Queue(id="b", limit=Resources(gpu=0, cpu=4))))
    assert queues["a"]["resources"]["max"] == {"nvidia.com/gpu": "0", "apportion.dev/nothing-else": "1"}
    assert queues["b"]["resources"]["max"] == {"vcore": "4", "nvidia.com/gpu": "0"}


def test_unlimited_guarantee_is_the_limit_or_the_maximum() -> None:
    queues = _queues(
        _program(
            Queue(id="a", guaranteed=Resources(memory=UNLIMITED, cpu=UNLIMITED)),
            Queue(id="b", guaranteed=Resources(memory=UNLIMITED), limit=Resources(memory="1Ti")),
        )
    )
    assert queues["a"]["resources"]["guaranteed"] == {
        "vcore": "9223372036854775807m",
        "memory": "9223372036854775807",
    }
    assert queues["b"]["resources"] == {"guaranteed": {"memory": "1Ti"}, "max": {"memory": "1Ti"}}


def test_two_unlimited_guarantees_below_a_limit_are_refused() -> None:
    endless = Resources(cpu=UNLIMITED)
    program = _program(
        Queue(
            id="a",
            limit=Resources(cpu=8),
            children=(Queue(id="b", guaranteed=endless), Queue(id="c", guaranteed=endless)),
        )
    )
    assert _refused(program) == [("AP519", "queue c")]


@pytest.mark.parametrize(
    ("queue", "codes"),
    [
        (Queue(id="a", guaranteed=Resources(gpu="2.5")), ["AP519"]),
        (Queue(id="a", limit=Resources(gpu="0.5")), ["AP519"]),
        (Queue(id="a", limit=Resources(memory=2**63 - 1)), ["AP519"]),
        (Queue(id="a", users=(UserLimit(user="ann", limit=Resources(gpu="0.5")),)), ["AP519"]),
        (Queue(id="a", users=(UserLimit(user="9lives", limit=Resources(gpu=1)),)), ["AP518"]),
        (Queue(id="a", users=(UserLimit(user="*", limit=Resources(gpu=1)),)), []),
        (Queue(id="a", guaranteed=Resources(gpu=2, cpu="1500m", memory="1500M")), []),
    ],
)
def test_unsupported_settings_are_refused(queue: Queue, codes: list[str]) -> None:
    assert [code for code, _ in _refused(_program(queue))] == codes


def test_different_placements_are_refused() -> None:
    assert _refused(_program(Queue(id="a"), placement=Placement(cpu=SPREAD))) == [("AP516", "cluster prod/c")]


def test_leaves_without_preemptible_classes_disable_preemption() -> None:
    classes = (
        PriorityClass(name="low", value=1, preemptible=True),
        PriorityClass(name="top", value=9, preemptible=False),
    )
    queues = _queues(
        _program(
            Queue(id="safe", namespaces=("safe",), priority_classes=("top",)),
            Queue(id="mixed", namespaces=("mixed",)),
            priority_classes=classes,
        )
    )
    assert queues["safe"]["properties"]["preemption.policy"] == "disabled"
    assert "preemption.policy" not in queues["mixed"]["properties"]


def test_reserved_yunikorn_names_are_avoided() -> None:
    program = _program(Queue(id="root", children=(Queue(id="default", namespaces=("a",)),)))
    root, default = program.queues
    assert leaf_queue_name(program, root) is None
    path = leaf_queue_name(program, default)
    assert path is not None
    assert path.startswith("root.root-")
    assert {name.rpartition("-")[0] for name in path.split(".")[1:]} == {"root", "default"}
    assert application_id("vision", "train") == "vision.train"


def test_long_configuration_is_compressed() -> None:
    program = _program(*(Queue(id=f"team-{number:05}", guaranteed=Resources(cpu=number)) for number in range(6000)))
    manifest = config_map(program)
    assert list(manifest["binaryData"]) == ["queues.yaml.gz"]
    assert len(READER.read([manifest]).queues) == 6000
    assert _refused(program) == []


def test_ambiguous_yaml_scalars_are_quoted() -> None:
    value = {"a": ["yes", "1", "x y", "ok"], "b": {}, "c": [], "null": 3, "d": [{"e": {"f": True}}]}
    text = document(value, ["A note."])
    assert text.startswith("# A note.\n")
    assert yaml.safe_load(text) == value


FIELD = """
partitions:
  - name: default
    nodesortpolicy: {type: binpacking}
    placementrules:
      - name: tag
        value: namespace
        create: true
      - name: provided
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: Research
            resources:
              guaranteed: {memory: 400G, vcore: 40, nvidia.com/gpu: 8}
              max: {memory: 600G, vcore: 60500m, nvidia.com/gpu: 16, pods: 100}
            properties: {application.sort.policy: fair}
            queues:
              - name: dev
                maxapplications: 3
              - name: prod
                properties: {priority.offset: "50"}
                limits:
                  - {limit: "", users: [ann, "*"], maxresources: {nvidia.com/gpu: "2"}, maxapplications: 4}
          - name: other_team
            resources: {max: {nvidia.com/gpu: "0"}}
          - name: web
            queues:
              - name: dev
  - name: gpu
    queues: [{name: x}]
"""


def _read(text: str, *others: dict[str, Any]) -> tuple[dict[str, QueueRecord], list[str]]:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"},
        "data": {"queues.yaml": text},
    }
    record = READER.read([manifest, *others])
    return {queue.id: queue for queue in record.queues}, [note.text for note in record.notes]


def test_existing_configuration_is_imported() -> None:
    queues, notes = _read(FIELD)
    assert list(queues) == ["research", "research-dev", "prod", "other-team", "web", "web-dev"]
    research = queues["research"]
    assert research.guaranteed == {"cpu": 40_000, "memory": 400 * 10**9, "gpu": 8000}
    assert research.limit == {"cpu": 60_500, "memory": 600 * 10**9, "gpu": 16_000, "pods": 100}
    assert queues["other-team"].limit == {}
    assert (queues["research-dev"].priority, queues["prod"].priority) == (99, None)
    assert [(user.user, dict(user.limit), user.max_jobs) for user in queues["prod"].users] == [
        ("*", {"gpu": 2000}, 4),
        ("ann", {"gpu": 2000}, 4),
    ]
    assert queues["web-dev"].parent == "web"
    assert {note.partition(":")[0] for note in notes} >= {
        "partition gpu is skipped",
        "placement rules are dropped",
        "`maxapplications` is dropped",
        "property application.sort.policy is dropped",
        "resources.max is dropped",
    }


def test_namespaces_follow_placement_rules() -> None:
    text = """
partitions:
  - name: default
    placementrules: [{name: tag, value: namespace.parentqueue}]
    queues: [{name: root, queues: [{name: a, parent: true, queues: [{name: b}, {name: c}]}]}]
"""

    def namespace(name: str, queue: str) -> dict[str, Any]:
        annotations = {"yunikorn.apache.org/parentqueue": queue}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}

    queues, _ = _read(text, namespace("x", "root.a.b"), namespace("c", "root.a"), namespace("y", "root.a.b"))
    assert {id_: queue.namespaces for id_, queue in queues.items()} == {"a": (), "b": ("x", "y"), "c": ("c",)}


def test_unreadable_configuration_is_reported() -> None:
    with pytest.raises(
        ValueError, match=r"ConfigMap yunikorn/yunikorn-configs: root\.a: resources\.max\.memory: invalid"
    ):
        _read("partitions: [{queues: [{name: a, resources: {max: {memory: 1.5Gi}}}]}]")
    with pytest.raises(ValueError, match="field nam not found"):
        _read("partitions: [{queues: [{nam: a}]}]")
    assert READER.read([]).queues == ()
