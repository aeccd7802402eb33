"""The scenarios of the examples, decided by the engines' own code: what changes in them, and what the engine decided.

`changes_of` describes a scenario by the simulation of its example: the objects that users and controllers create, and the
pods that end, but nothing that follows from a decision. Its engine, the simulated cluster and the live scheduler decide the
same description: seeds/README.md.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import yaml

from apportion_cli.machine_labels import with_flavor_labels
from apportion_cli.scenario_objects import ScenarioObjects, read_objects
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.scenario.format import Scenario
from apportion_runtime.sim.scenario.reader import read_scenario

Object = dict[str, Any]
_EXAMPLES = Path(__file__).parents[2] / "examples"
_RECORDED = Path(__file__).parent / "seeds" / "kai.jsonl"
_AS_OF = date(2026, 1, 1)
_FIXED = ("Node", "Queue", "PriorityClass", "SchedulingShard")
_GENERATED = re.compile(r"0{8}-0000-4000-8000-[0-9a-f]{12}")
_NUMBER = re.compile(r"-\d+$")
_RECREATED = re.compile(r"-r\d+$")
"""The end of the name of a pod that replaces an evicted one."""


@dataclass(frozen=True, slots=True)
class Change:
    """What users, controllers and kubelets change at a time, apart from what follows from an eviction.

    Attributes:
        at_s: Seconds since the start.
        created: Pods and pod groups.
        deleting: Pods that begin to terminate.
        removed: The kinds and names of what is gone.
    """

    at_s: float
    created: tuple[Object, ...] = ()
    deleting: tuple[str, ...] = ()
    removed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Cycle:
    """The decisions at a time: the nodes of the pods that are bound, with the shared devices, and the evicted pods."""

    at_s: float
    bound: Mapping[str, tuple[str, ...]]
    evicted: frozenset[str]


@dataclass(frozen=True, slots=True)
class SeedScenario:
    """A scenario: the objects at its start, and what changes in them."""

    start: float
    objects: tuple[Object, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class DecidedScenario:
    """A scenario of an example, and what its engine decided. Devices are numbered in the order of their first use."""

    example: str
    scenario: SeedScenario
    cycles: tuple[Cycle, ...]


def decided_scenarios() -> Iterator[DecidedScenario]:
    for line in map(json.loads, _RECORDED.read_text().splitlines()):
        changes = tuple(
            Change(
                one["at_s"],
                tuple(one["created"]),
                tuple(one["deleting"]),
                tuple((kind, name) for kind, name in one["removed"]),
            )
            for one in line["changes"]
        )
        cycles = tuple(
            Cycle(one["at_s"], {pod: tuple(place) for pod, place in one["bound"].items()}, frozenset(one["evicted"]))
            for one in line["cycles"]
        )
        yield DecidedScenario(line["example"], SeedScenario(line["start"], tuple(line["objects"]), changes), cycles)


def read_example(
    example: str, changed: Callable[[Object], Object] = lambda document: document
) -> tuple[ScenarioObjects, Scenario]:
    """Return the compiled objects of an example, and its scenario after a change of its document."""
    folder = _EXAMPLES / example
    with click.Context(click.Command("simulate")):
        read = read_objects(str(folder), env=None, cluster=None, engine=None, as_of=_AS_OF, fail_on="error")
    assert isinstance(read, ScenarioObjects)

    def documents(name: str) -> list[Object]:
        return [one for one in yaml.safe_load_all((folder / name).read_text()) if one]

    text = yaml.safe_dump(changed(yaml.safe_load((folder / "scenario.yaml").read_text())))
    scenario = read_scenario(text, documents, read.model.workload_labels, read.nodes)
    return read, with_flavor_labels(scenario, read.objects)


def cluster_of(example: str) -> Cluster:
    """Return the simulated cluster of an example, with its scenario."""
    read, scenario = read_example(example)
    return Cluster(read.objects, scenario, read.model)


def changes_of(example: str) -> SeedScenario:
    """Return an example's scenario as its simulation creates and removes the objects."""
    cluster = cluster_of(example)
    fixed = tuple(_stored(one) for kind in _FIXED for one in cluster.cluster_state.store.list(kind))
    changes: list[Change] = []
    before: dict[tuple[str, str], Object] = {}
    while cluster.step():
        objects = _changing(cluster)
        evicted = {fact.pod for fact in cluster.history.facts if fact.what == "evicted"}
        created = [one for key, one in objects.items() if key not in before and not _RECREATED.search(key[1])]
        deleting = [
            name for (kind, name), one in objects.items()
            if kind == "Pod" and _terminates(one) and not _terminates(before.get((kind, name), {})) and name not in evicted
        ]  # fmt: skip
        removed = [key for key in before if key not in objects and not (key[0] == "Pod" and key[1] in evicted)]
        if created or deleting or removed:
            one = Change(cluster.cluster_state.elapsed_s, tuple(map(_new, created)), tuple(deleting), tuple(removed))
            changes.append(_joined(changes.pop(), one) if changes and changes[-1].at_s == one.at_s else one)
        before = objects
    return SeedScenario(cluster.scenario.start, fixed, tuple(changes))


def cycles_of(history: History) -> Iterator[Cycle]:
    """Yield the decisions of a simulation, by time."""
    facts: dict[float, list[Fact]] = {}
    for fact in history.facts:
        if fact.what in ("bound", "evicted"):
            facts.setdefault(fact.at_s, []).append(fact)
    devices: dict[str, str] = {}
    for at_s, found in facts.items():
        bound = {fact.pod: fact for fact in found if fact.what == "bound"}
        places = {name: _place(bound[name], devices) for name in sorted(bound)}
        yield Cycle(at_s, places, frozenset(fact.pod for fact in found if fact.what == "evicted"))


@dataclass(frozen=True, slots=True)
class State:
    """What happened since the last state, and what runs: pods by their role, as the workers of a group are alike.

    Attributes:
        at_s: When the scenario changed, or evicted pods were gone.
        evicted: The number of evicted pods of each role.
        running: The number of pods of each role on each node.
        devices: The number of shared devices by node and the roles of the pods on it.
    """

    at_s: float
    evicted: Counter[str]
    running: Counter[tuple[str, str]]
    devices: Counter[tuple[str, ...]]


def states_of(scenario: SeedScenario, cycles: Iterable[Cycle], grace_s: float = 30.0) -> Iterator[State]:
    """Yield the state after each change of a scenario that is followed by decisions, with these decisions.

    The live scheduler binds pods that share a device in the cycle after the one in which its devices are reserved.
    """
    cycles = list(cycles)
    changes = {change.at_s: change for change in scenario.changes}
    ends = {cycle.at_s + grace_s for cycle in cycles if cycle.evicted}
    moments = sorted(changes.keys() | ends)
    places: dict[str, tuple[str, ...]] = {}
    for begin, end in pairwise([*moments, math.inf]):
        change = changes.get(begin, Change(begin))
        for name in (*change.deleting, *(name for _, name in change.removed)):
            places.pop(name, None)
        evicted: Counter[str] = Counter()
        for cycle in (cycle for cycle in cycles if begin <= cycle.at_s < end):
            places.update(cycle.bound)
            for name in cycle.evicted:
                del places[name]
                evicted[_role(name)] += 1
        running = Counter((_role(name), place[0]) for name, place in places.items())
        shared: dict[str, list[str]] = {}
        for name, (node, *devices) in places.items():
            for device in devices:
                shared.setdefault(f"{node} {device}", [node]).append(_role(name))
        yield State(begin, evicted, running, Counter((one[0], *sorted(one[1:])) for one in shared.values()))


def _role(pod: str) -> str:
    return _NUMBER.sub("", _RECREATED.sub("", pod))


def comparable(scenario: SeedScenario) -> str:
    """Return a scenario as text, with the generated uids numbered in the order in which they occur."""
    numbers: dict[str, str] = {}
    document = [scenario.start, *map(_decisive, scenario.objects)]
    for change in scenario.changes:
        document += [change.at_s, *map(_decisive, change.created), sorted(change.deleting), sorted(change.removed)]
    text = json.dumps(document, sort_keys=True, indent=1)
    return _GENERATED.sub(lambda found: numbers.setdefault(found[0], f"uid-{len(numbers)}"), text)


def _place(fact: Fact, devices: dict[str, str]) -> tuple[str, ...]:
    return (fact.node, *(devices.setdefault(group, f"gpu-{len(devices) + 1}") for group in fact.gpu_groups))


def _changing(cluster: Cluster) -> dict[tuple[str, str], Object]:
    store = cluster.cluster_state.store
    return {(kind, one["metadata"]["name"]): _stored(one) for kind in ("PodGroup", "Pod") for one in store.list(kind)}


def _stored(one: Mapping[str, Any]) -> Object:
    made: Object = json.loads(json.dumps(one))
    del made["metadata"]["resourceVersion"]
    return made


def _new(one: Object) -> Object:
    return {**one, "status": {"phase": "Pending"}} if one["kind"] == "Pod" else one


def _terminates(one: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" in one.get("metadata", {})


def _joined(first: Change, second: Change) -> Change:
    return Change(
        first.at_s,
        first.created + second.created,
        first.deleting + second.deleting,
        first.removed + second.removed,
    )


def _decisive(one: Mapping[str, Any]) -> Object:
    """Return the fields of an object that a scheduler reads."""
    meta = one["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", "creationTimestamp", "ownerReferences") if key in meta}
    if one["kind"] in ("Pod", "Node"):
        kept |= {key: meta.get(key, {}) for key in ("labels", "annotations")}
    return {**one, "metadata": kept}
