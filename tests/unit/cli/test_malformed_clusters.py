"""`kubectl apportion` on a cluster with malformed or unusual objects: they are warnings, and the rest is shown."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cli.plugin_clusters import Plugin, grouped, queue_with
from tests.unit.runtime.kube.api_server import ApiServer

pytest.importorskip("kubernetes", reason="the extra `kube` is not installed")

MALFORMED: dict[str, tuple[tuple[dict[str, Any], ...], tuple[str, ...]]] = {
    "cycle": ((queue_with("a", "b"), queue_with("b", "a")), ("in queue a", "a → b → a")),
    "own parent": ((queue_with("a", "a"),), ("in queue a", "queue `a` is its own parent")),
    "missing parent": ((queue_with("a", "gone"),), ("in queue a", "parent queue `gone` does not exist")),
    "duration": ((queue_with("a", reclaimMinRuntime="soon"),), ("in queue a", '`reclaimMinRuntime`: "soon"')),
    "negative amount": ((queue_with("a", resources={"gpu": {"quota": -3}}),), ("in queue a", "gpu")),
    "type": (
        (queue_with("a", resources={"gpu": {"quota": "four"}}),),
        ("in queue a", "`spec.resources.gpu.quota`", "the string `four`"),
    ),
}
"""Queues that are malformed, and what is said of them."""


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_queue_is_a_warning_and_the_others_are_shown_as_before(
    server: ApiServer, plugin: Plugin, name: str
) -> None:
    calls = (("top",), ("queue", "nlp"), ("why", "late"))
    before = [plugin(*call) for call in calls]
    queues, said = MALFORMED[name]
    server.add(*queues)
    for call, valid in zip(calls, before, strict=True):
        told = plugin(*call)
        assert told.code == 0
        assert "error" not in told.err
        assert [text for text in said if "warning[AP8" not in told.err or text not in told.err] == []
        rows = [line for line in told.out.splitlines() if not line.startswith("a ")]
        assert rows == valid.out.splitlines()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cycle", "queue a is ignored: its parents form a cycle (a → b → a); remove `parentQueue` from one of these"),
        ("own parent", "queue a is ignored: it is its own parent; remove `parentQueue` from queue a"),
        ("missing parent", "queue a is ignored: its parent gone does not exist; create queue gone"),
        ("type", "queue a is ignored: `spec.resources.gpu.quota`: expected a finite number, found the string `four`"),
    ],
)
def test_explanation_of_an_ignored_queue_says_why(server: ApiServer, plugin: Plugin, name: str, said: str) -> None:
    server.add(*MALFORMED[name][0])
    told = plugin("queue", "a")
    assert told.code == 2
    assert f"Error: {said}" in told.err


@pytest.mark.parametrize(
    ("quota", "limit", "row"),
    [
        (1e308, 1e308, "a                            0     1e+308        0  1e+308 ...................."),
        (-1e308, -1e308, "a                            0    -1e+308   1e+308 -1e+308 |"),
        (9_999_999, 25_000_000, "a                            0    9999999        0 2.5e+07 ...................."),
    ],
)
def test_huge_amounts_of_a_queue_keep_the_columns(
    server: ApiServer, plugin: Plugin, quota: float, limit: float, row: str
) -> None:
    server.add(queue_with("a", resources={"gpu": {"quota": quota, "limit": limit}}))
    told = plugin("top")
    assert told.code == 0
    assert told.out.splitlines()[3] == row
    assert max(map(len, told.out.splitlines())) <= 80


def test_huge_quota_does_not_fill_the_queue_explanation(server: ApiServer, plugin: Plugin) -> None:
    server.add(queue_with("a", resources={"gpu": {"quota": 1e308, "limit": 1e308}}), *grouped("one", "a", 1))
    told = plugin("queue", "a")
    assert told.code == 0
    assert "quota 1e+308 GPUs, limit 1e+308 GPUs" in told.out


def test_warnings_about_a_cluster_have_no_hints_about_files(server: ApiServer, plugin: Plugin) -> None:
    server.add(*grouped("more", "nlp", 8, "n1"))
    told = plugin("top")
    assert "warning[AP810] the pods on the node exceed its allocatable resources: 14 of 8 GPUs" in told.err
    assert "export" not in told.err
