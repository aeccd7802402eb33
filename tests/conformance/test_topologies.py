"""Placements of gangs by Volcano's and Koordinator's own code against the meaning of the policy: see volcano_topology/README.md."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from tests.conformance.random_cases import cases
from tests.conformance.topology_cases import Replay, domain_nodes, levels_of, objects_of

LIMITATIONS = {
    "volcano": {"absent-level", "elastic", "preemption", "reclaim", "repeated-values", "several-topologies"},
    "koordinator": {"different-pods", "elastic", "eviction", "repeated-values", "replaced-pods"},
}
"""The limitations of `topology` that the page of the engine describes, each with cases in which it shows."""
EVERY_ENGINE = pytest.mark.parametrize("engine", LIMITATIONS)


def check(engine: str) -> None:
    """Check the placements of every case that shows no limitation."""
    n_cases = n_gangs = 0
    for case in cases(f"{engine}_topology"):
        if "loss" not in case:
            assert not Replay(case).violations(), case["seed"]
            n_cases += 1
            n_gangs += sum("level" in made for made in case["workloads"])
    assert n_cases >= 24
    assert n_gangs >= 60


def test_volcano_places_gangs_as_the_policy_requires() -> None:
    check("volcano")


def test_koordinator_places_gangs_as_the_policy_requires() -> None:
    check("koordinator")


@EVERY_ENGINE
def test_objects_are_those_that_the_engine_decided_on(engine: str) -> None:
    for case in cases(f"{engine}_topology"):
        assert json.loads(json.dumps(objects_of(case))) == case["objects"], case["seed"]


@EVERY_ENGINE
def test_every_limitation_shows_in_recorded_placements(engine: str) -> None:
    found = [case for case in cases(f"{engine}_topology") if "loss" in case]
    assert {case["loss"] for case in found} == LIMITATIONS[engine]
    for case in found:
        assert Replay(case).violations(), case["seed"]


def test_hyper_nodes_are_the_domains_of_the_policy() -> None:
    """Tier 1 is the lowest level, and each HyperNode has the nodes of a domain."""
    for case in cases("volcano_topology"):
        if "loss" in case:
            continue
        members: dict[str, list[str]] = {made["name"]: made["members"] for made in case["hypernodes"]}
        levels = levels_of(case)
        found = defaultdict(set)
        for made in case["hypernodes"]:
            assert made["tier"] == len(levels) - levels.index(made["label"]), case["seed"]
            found[made["label"], made["value"]] |= _nodes(made["name"], members)
        assert found == domain_nodes(case), case["seed"]


def _nodes(name: str, members: dict[str, list[str]]) -> set[str]:
    return {node for member in members[name] for node in _nodes(member, members)} if name in members else {name}


@EVERY_ENGINE
def test_other_placements_contradict_the_policy(engine: str) -> None:
    """A gang that is not placed, or of which one pod is in another domain, is noticed in most cases."""
    n_moved = n_noticed = 0
    for case in cases(f"{engine}_topology"):
        levels = {made["name"]: made.get("level") for made in case["workloads"]}
        for number, (_, what, pod, node) in enumerate(case["events"]):
            level = levels[pod.split("-")[0]]
            if "loss" in case or what != "bound" or level is None:
                continue
            others = [name for name, made in case["nodes"].items() if not _share(case, level, name, node)]
            on_others = {event[3] for event in case["events"] if event[2].split("-")[0] == pod.split("-")[0]} - {node}
            if not others or not on_others:
                continue
            n_moved += 1
            n_noticed += bool(Replay(_changed(case, number, others[0])).violations())
    assert n_moved >= 40
    assert n_noticed == n_moved


def _share(case: dict[str, Any], level: str, one: str, other: str) -> bool:
    labels = [case["nodes"][name]["labels"].get(level) for name in (one, other)]
    return labels[0] == labels[1] or None in labels


def _changed(case: dict[str, Any], number: int, node: str) -> dict[str, Any]:
    at, what, pod, _ = case["events"][number]
    return {**case, "events": [*case["events"][:number], [at, what, pod, node], *case["events"][number + 1 :]]}


@EVERY_ENGINE
def test_waiting_gangs_that_fit_contradict_the_policy(engine: str) -> None:
    for case in cases(f"{engine}_topology"):
        if "loss" not in case and not case.get("competes") and any(event[1] == "bound" for event in case["events"]):
            assert Replay({**case, "events": []}).violations(), case["seed"]
