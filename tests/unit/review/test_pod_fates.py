"""Fates of running pods on the engines with static models, one case for each rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.engine_lists import engines_except
from tests.unit.review.pod_objects import objects_of

from apportion_review.fates.cluster_state import cluster_states
from apportion_review.fates.engine_fates import engine_fates
from apportion_review.fates.records import EngineFates, Fate

HERE = Path(__file__).parent
ENGINES = engines_except(kai="test_kai_fates.py has its cases", kueue="test_kueue_fates.py has its cases")


def cases() -> Iterator[Any]:
    """The cases of all engines."""
    for engine in ENGINES:
        document = yaml.safe_load((HERE / f"{engine}-fates.yaml").read_text())
        for case in document["cases"]:
            made = {**document.get("all", {}), **case, "engine": engine}
            yield pytest.param(made, id=f"{engine}: {case['name']}")


def fates_of(case: dict[str, Any]) -> EngineFates:
    """The fates of a case."""
    base, head = (list(objects_of(case, is_head=is_head)) for is_head in (False, True))
    return engine_fates(case["engine"], *cluster_states(base, head, now=None))


@pytest.mark.parametrize("case", list(cases()))
def test_fates(case: dict[str, Any]) -> None:
    found = fates_of(case)
    base = {row.workload.name: row.base.fate.value for row in found.rows}
    head = {row.workload.name: row.head.fate.value for row in found.rows}
    assert head == case["fates"], [row.head for row in found.rows]
    assert base == {**case["fates"], **case.get("base", {})}, [row.base for row in found.rows]
    queues = {row.workload.name: row.workload.queue for row in found.rows}
    assert queues == {**queues, **case.get("queues", {})}
    assert [each.name for each in found.unmanaged] == case.get("unmanaged", [])
    assert any(case.get("rule", "") in row.head.rule for row in found.rows), [row.head.rule for row in found.rows]
    assert any(case.get("note", "") in note for note in found.notes), found.notes


@pytest.mark.parametrize("engine", ["ack", "native"])
def test_each_kind_of_change_has_a_case(engine: str) -> None:
    """Neither engine has weights or minimum runtimes."""
    document = yaml.safe_load((HERE / f"{engine}-fates.yaml").read_text())
    found = {case["direction"] for case in document["cases"] if "direction" in case}
    assert found == {"cut", "grow", "move", "priority", "limit", "preemptibility", "pool lost"}


@pytest.mark.parametrize("engine", ENGINES)
def test_unreadable_objects_leave_fates_unknown(engine: str) -> None:
    document = yaml.safe_load((HERE / f"{engine}-fates.yaml").read_text())
    case = {**document.get("all", {}), **document["cases"][0], "engine": engine, "head": [document["unreadable"]]}
    found = fates_of(case)
    assert {row.head.fate for row in found.rows} == {Fate.UNKNOWN}
    assert any(note.startswith("The head cannot be evaluated: ") for note in found.notes), found.notes


@pytest.mark.parametrize("engine", ENGINES)
def test_workloads_are_owners_of_pods(engine: str) -> None:
    document = yaml.safe_load((HERE / f"{engine}-fates.yaml").read_text())
    found = fates_of({**document.get("all", {}), **document["cases"][0], "engine": engine})
    row = found.rows[0]
    assert row.workload.kind == "Job"
    assert row.workload.gpus == {"h100": 1000 * document["cases"][0]["pods"][row.workload.name]["gpus"]}
    assert row.workload.queue == "a"
    assert row.workload.started is not None
    assert found.is_verified is (engine in ("native", "volcano"))
    assert ("job dequeuing compared with" in found.unverified) is (engine == "ack")
