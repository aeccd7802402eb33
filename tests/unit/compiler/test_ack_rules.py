"""Rules of ACK's trees and kube-queue's queues, one fault at a time."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.ack.rules import RULES

TREE: dict[str, Any] = {
    "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
    "kind": "ElasticQuotaTree",
    "metadata": {"name": "elasticquotatree", "namespace": "kube-system"},
    "spec": {
        "root": {
            "name": "root",
            "min": {"cpu": 40, "nvidia.com/gpu": 8},
            "max": {"cpu": "40", "nvidia.com/gpu": "8"},
            "children": [
                {
                    "name": "algorithm",
                    "min": {"cpu": 24, "nvidia.com/gpu": 4},
                    "max": {"cpu": 30, "nvidia.com/gpu": 8},
                    "children": [
                        {
                            "name": "video",
                            "min": {"cpu": "12000m", "nvidia.com/gpu": 2},
                            "max": {"cpu": 14, "nvidia.com/gpu": 4},
                            "namespaces": ["video"],
                        },
                        {
                            "name": "text",
                            "min": {"cpu": 12, "nvidia.com/gpu": 2},
                            "max": {"cpu": 14, "nvidia.com/gpu": 4},
                            "namespaces": ["text"],
                        },
                    ],
                }
            ],
        }
    },
}
QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "Queue",
    "metadata": {
        "name": "video",
        "namespace": "kube-queue",
        "labels": {"create-by-kubequeue": "false"},
        "annotations": {"kube-queue/available-quota": "video", "kube-queue/quota-fullname": "root/algorithm/video"},
    },
    "spec": {"queuePolicy": "Block"},
}

Change = Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], object]
R, I = Effect.REJECTED, Effect.IGNORED  # noqa: E741

# root, algorithm, video → the verdict's effect, field and a part of its message.
FAULTS: dict[str, tuple[Change, Effect, str, str]] = {
    "min-over-max": (lambda r, a, v: v["min"].update(cpu=15), R, "min.cpu", "min 15 exceeds max 14"),
    "root-uneven": (lambda r, a, v: r["max"].update(cpu=41), R, "spec.root.min.cpu", "equal"),
    "children-promised-more": (lambda r, a, v: a["min"].update(cpu=23), R, "children[0].min.cpu", "children's min"),
    "child-bounded-above-parent": (lambda r, a, v: v["max"].update(cpu=31), R, "max.cpu", "exceeds the parent's max, 30"),
    "name-twice": (lambda r, a, v: v.update(name="text"), R, "name", "is also named text"),
    "no-name": (lambda r, a, v: v.pop("name"), R, "name", "must have a name"),
    "namespace-twice": (lambda r, a, v: v.update(namespaces=["text"]), R, "namespaces[0]", "namespace text already belongs"),
    "namespace-on-inner": (lambda r, a, v: a.update(namespaces=["x"]), R, "namespaces", "only leaves can have namespaces"),
    "negative": (lambda r, a, v: v["min"].update(cpu=-1), R, "min.cpu", "-1 is negative"),
    "no-quantity": (lambda r, a, v: v["max"].update(cpu="many"), R, "max.cpu", '`many` is not a quantity'),
    "key-missing-in-min": (lambda r, a, v: v["min"].pop("cpu"), I, "min", "min does not set cpu; ACK treats missing amounts as zero"),
    "key-missing-in-max": (lambda r, a, v: v["max"].pop("cpu"), I, "max", "max does not set cpu; ACK treats missing amounts as unlimited"),
    "slash-in-name": (lambda r, a, v: v.update(name="a/b"), I, "name", "splits the path"),
    "unknown-field": (lambda r, a, v: v.update(weight=2), I, "weight", "tree nodes have no field weight"),
    "root-renamed": (lambda r, a, v: r.update(name="acme"), I, "spec.root.name", "the root is always named root"),
    "lending-limit": (
        lambda r, a, v: v.update(attributes={"alibabacloud.com/lendlimit": "[]"}), I, "lendlimit]", "not a JSON object"
    ),
}  # fmt: skip


def test_valid_tree_and_queue_pass() -> None:
    assert list(RULES.check([TREE, QUEUE], ())) == []


@pytest.mark.parametrize(("change", "effect", "field", "message"), FAULTS.values(), ids=FAULTS)
def test_invalid_node_is_reported(change: Change, effect: Effect, field: str, message: str) -> None:
    tree = deepcopy(TREE)
    root = tree["spec"]["root"]
    algorithm = root["children"][0]
    change(root, algorithm, algorithm["children"][0])
    found = list(RULES.check([tree], ()))
    assert any(v.effect is effect and v.field.endswith(field) and message in v.message for v in found), found


def test_second_tree_is_ignored() -> None:
    other = {**TREE, "metadata": {"name": "other", "namespace": "kube-system"}}
    elsewhere = {**TREE, "metadata": {"name": "third", "namespace": "default"}}
    found = [(v.index, v.effect, v.kind) for v in RULES.check([TREE, other, elsewhere], ())]
    assert found == [(1, Effect.IGNORED, "Forbidden"), (2, Effect.IGNORED, "Invalid")]
    assert [v.kind for v in RULES.check([other], [TREE])] == ["Forbidden"]
    assert list(RULES.check([TREE], [TREE])) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q: q["metadata"].update(namespace="default"), "reads queues only in kube-queue"),
        (lambda q: q["spec"].update(queuePolicy="Fair"), "has no Fair policy"),
        (lambda q: q["metadata"]["annotations"].update({"kube-queue/available-quota": "x"}), "no quota x"),
        (
            lambda q: q["metadata"].update(labels={"create-by-kubequeue": "true"}, annotations={}),
            "deletes queues that it manages",
        ),
    ],
)
def test_queue_ignored_by_kube_queue_is_reported(change: Callable[[Any], object], message: str) -> None:
    queue = deepcopy(QUEUE)
    change(queue)
    found = list(RULES.check([TREE, queue], ()))
    assert [v.effect for v in found] == [Effect.IGNORED]
    assert message in found[0].message
