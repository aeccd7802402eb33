"""Interpretation of ACK's amounts: substitutes, refusals, approximations, and existing trees imported as policies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apportion_compiler.diagnostics.diagnostic import Severity
from apportion_compiler.engines.ack import emit as ack
from apportion_compiler.engines.ack.reader import READER
from apportion_compiler.fidelity import fidelity_findings
from apportion_compiler.ir.program import Program
from apportion_compiler.plain_objects import mapping, name_of
from apportion_policy import UNLIMITED, AckQueue, AckSettings, Engine, Mig, Queue, Resources, TimeSlicing, Weight

from .quota_programs import gpu_pool, program_of

H100 = gpu_pool("h100")


def _program(*queues: Queue, **said: Any) -> Program:
    return program_of(Engine.ACK, *queues, **said)


def _root(program: Program) -> dict[str, Any]:
    (tree,) = [m for m in ack.emit(program).manifests if m["kind"] == "ElasticQuotaTree"]
    return tree["spec"]["root"]


def _refused(program: Program) -> list[tuple[str, str]]:
    return [(refusal.code, refusal.address) for refusal in ack.refusals(program)]


def test_root_is_the_cluster_and_unset_limits_are_inherited() -> None:
    root = _root(_program(Queue(id="a", guaranteed=Resources(gpu=4, cpu=2)), pools=(H100,)))
    assert root["min"] == root["max"] == {"cpu": "20", "nvidia.com/gpu": "16"}
    assert root["children"][0]["max"] == root["max"]


def test_unlimited_amounts_are_capped_for_kube_queue() -> None:
    root = _root(_program(Queue(id="a", guaranteed=Resources(cpu=2, memory="1Gi", gpu=1))))
    assert root["max"] == {"cpu": "10000000", "memory": "16Pi", "nvidia.com/gpu": "10000000000"}


@pytest.mark.parametrize(
    ("sharing", "devices"), [(Mig(profile="1g.10gb", instances=7), "112"), (TimeSlicing(clients=4), "64")]
)
def test_shared_gpus_are_counted_by_replica(sharing: Mig | TimeSlicing, devices: str) -> None:
    pool = H100.model_copy(update={"sharing": sharing})
    assert (
        _root(_program(Queue(id="a", guaranteed=Resources(gpu=4)), pools=(pool,)))["max"]["nvidia.com/gpu"] == devices
    )


def test_limit_above_cluster_size_is_kept() -> None:
    queue = Queue(id="a", guaranteed=Resources(gpu=4), limit=Resources(gpu=100))
    root = _root(_program(queue, pools=(H100,)))
    assert (root["max"], root["children"][0]["max"]) == ({"nvidia.com/gpu": "100"}, {"nvidia.com/gpu": "100"})


def test_unlimited_guarantee_is_the_remainder() -> None:
    whole = Queue(id="b", guaranteed=Resources(gpu=UNLIMITED))
    program = _program(Queue(id="a", guaranteed=Resources(gpu=4)), whole, pools=(H100,))
    a, b = _root(program)["children"]
    assert (a["min"], b["min"]) == ({"nvidia.com/gpu": "4"}, {"nvidia.com/gpu": "12"})
    assert b["attributes"]["apportion.dev/unlimited"] == "gpu"
    assert READER.read(ack.emit(program).manifests).queues[1].guaranteed == {"gpu": UNLIMITED}
    twice = _program(Queue(id="a", guaranteed=Resources(gpu=UNLIMITED)), whole)
    assert _refused(twice) == [("AP519", "queue b")]


def test_gpu_models_are_summed_and_single_model_limits_refused() -> None:
    pools = (H100, gpu_pool("l4"))
    program = _program(Queue(id="a", guaranteed=Resources(gpu={"h100": 4, "l4": 2})), pools=pools)
    assert _root(program)["children"][0]["min"] == {"nvidia.com/gpu": "6"}
    (record,) = READER.read(ack.emit(program).manifests).queues
    assert record.guaranteed == {"gpu": 6000}
    assert _refused(_program(Queue(id="a", limit=Resources(gpu={"h100": 4})), pools=pools)) == [("AP514", "queue a")]


def test_lending_limit_lists_every_resource() -> None:
    queue = Queue(id="a", guaranteed=Resources(gpu=4, cpu=8), lending_limit=Resources(gpu=1))
    program = _program(queue, pools=(H100,))
    attributes = _root(program)["children"][0]["attributes"]
    assert json.loads(attributes["alibabacloud.com/lendlimit"]) == {"cpu": "8", "nvidia.com/gpu": "1"}
    assert READER.read(ack.emit(program).manifests).queues[0].lending_limit == {"gpu": 1000}


def test_priority_is_emitted_only_on_kube_queue_queues() -> None:
    queue = Queue(id="a", priority=7)
    assert _refused(_program(queue)) == [("AP508", "queue a")]
    program = _program(queue, ack=AckSettings(queue_policy="Priority"))
    assert _refused(program) == []
    (written,) = [m for m in ack.emit(program).manifests if m["kind"] == "Queue"]
    assert written["spec"] == {"queuePolicy": "Priority", "priority": 7}
    record = READER.read(ack.emit(program).manifests)
    assert (record.queues[0].priority, record.cluster.ack) == (7, AckSettings(queue_policy="Priority"))


def test_queue_policy_is_set_per_queue() -> None:
    queues = (
        Queue(id="a", ack=AckQueue(queue_policy="Block")),
        Queue(id="a1", parent="a"),
        Queue(id="b", ack=AckQueue(queue_policy="Priority"), priority=7),
        Queue(id="c"),
    )
    program = _program(*queues)
    assert _refused(program) == []
    written = {name_of(m): m["spec"] for m in ack.emit(program).manifests if m["kind"] == "Queue"}
    assert written == {"a1": {"queuePolicy": "Block"}, "b": {"queuePolicy": "Priority", "priority": 7}}
    record = READER.read(ack.emit(program).manifests)
    assert {q.id: q.ack for q in record.queues if q.ack} == {
        "a1": AckQueue(queue_policy="Block"),
        "b": AckQueue(queue_policy="Priority"),
    }
    assert record.cluster.ack is None


def test_queue_policy_overrides_cluster_policy() -> None:
    queue = Queue(id="a", ack=AckQueue(queue_policy="Block"))
    program = _program(queue, Queue(id="b"), ack=AckSettings(queue_policy="Round"))
    policies = [mapping(m, "spec")["queuePolicy"] for m in ack.emit(program).manifests if m["kind"] == "Queue"]
    assert policies == ["Block", "Round"]


def test_fractional_gpus_are_truncated_or_refused() -> None:
    program = _program(Queue(id="a", guaranteed=Resources(gpu="1.5"), limit=Resources(gpu="2.5")))
    node = _root(program)["children"][0]
    assert (node["min"], node["max"]) == ({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"})
    assert _refused(program) == [("AP519", "queue a")]


def test_sums_beyond_64_bits_are_refused() -> None:
    assert _refused(_program(Queue(id="a", guaranteed=Resources(memory="2Ei"))))[0][0] == "AP519"


def test_oversized_tree_is_a_warning() -> None:
    """An operator can raise etcd's bound, so it is a warning although the rule is an error elsewhere."""
    amounts = Resources(cpu=8, memory="64Gi", gpu=1)
    many = [Queue(id=f"team-{i:05d}", namespaces=(f"team-{i:05d}",), guaranteed=amounts) for i in range(10_000)]
    program = _program(*many)
    (finding,) = (d for d in fidelity_findings(program, ack.BACKEND) if d.code == "AP518")
    assert finding.effective_severity is Severity.WARNING
    assert "etcd accepts at most 1.5 MiB" in finding.message
    assert not any(d.code == "AP518" for d in fidelity_findings(_program(*many[:2_000]), ack.BACKEND))


def test_weights_and_min_runtimes_are_not_emitted() -> None:
    queue = Queue(id="a", guaranteed=Resources(gpu=4), over_quota_weight=Weight(gpu=3), reclaim_min_runtime="1h")
    (record,) = READER.read(ack.emit(_program(queue)).manifests).queues
    assert (record.weight, record.reclaim_min_runtime) == ({}, None)


def test_single_top_queue_named_root_becomes_the_root() -> None:
    size = Resources(cpu=40, gpu=8)
    own = _program(Queue(id="root", guaranteed=size, limit=size), Queue(id="a", parent="root"), pools=(H100,))
    root = _root(own)
    assert root["max"] == {"cpu": "40", "nvidia.com/gpu": "8"}
    assert [child["name"] for child in root["children"]] == ["a"]
    assert [queue.id for queue in READER.read(ack.emit(own).manifests).queues] == ["root", "a"]
    other = _root(_program(Queue(id="root", guaranteed=size), Queue(id="b")))
    assert other["children"][1]["name"].startswith("root-")
    assert other["children"][1]["attributes"]["apportion.dev/queue-id"] == "root"


FIELD: dict[str, Any] = {
    "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
    "kind": "ElasticQuotaTree",
    "metadata": {"name": "elasticquotatree", "namespace": "kube-system"},
    "spec": {
        "root": {
            "name": "root",
            "min": {"cpu": 40, "memory": "40Gi"},
            "max": {"cpu": 40, "memory": "40Gi"},
            "children": [
                {
                    "name": "video",
                    "min": {"cpu": "12"},
                    "max": {"cpu": "14000m", "memory": "40Gi", "kube-queue/max-jobs": 10},
                    "namespaces": ["video", "film"],
                    "attributes": {"resourceflavors": "spot"},
                    "color": "red",
                }
            ],
        }
    },
}


def test_existing_tree_is_imported_with_its_root() -> None:
    record = READER.read([FIELD])
    root, video = record.queues
    assert root.guaranteed == root.limit == {"cpu": 40_000, "memory": 40 * 2**30}
    assert (video.parent, video.namespaces) == ("root", ("film", "video"))
    assert (video.guaranteed, video.limit) == ({"cpu": 12_000}, {"cpu": 14_000})
    assert {note.text for note in record.notes} == {
        "`color` is dropped", "attribute `resourceflavors` is dropped", "`kube-queue/max-jobs` is dropped"
    }  # fmt: skip


@pytest.mark.parametrize("value", ["many", -1, None])
def test_invalid_amount_is_reported(value: object) -> None:
    tree = json.loads(json.dumps(FIELD))
    tree["spec"]["root"]["children"][0]["min"]["cpu"] = value
    with pytest.raises(ValueError, match=r"root/video: min\.cpu"):
        READER.read([tree])
