"""Recorded placements of gangs on clusters with network levels: the policy, its compiled objects, and its meaning.

A domain of a level consists of the nodes with equal values of its label and of the labels of the levels above it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

from tests.unit.review.fit_clusters import compiled

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Placement,
    PlacementStrategy,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    Topology,
)

Made = dict[str, Any]
KINDS = {
    "volcano": ("PriorityClass", "ConfigMap", "Queue"),
    "koordinator": ("ClusterNetworkTopology", "ConfigMap", "ElasticQuota"),
}
"""The kinds of objects that an engine decides on."""
_READ_PREFIX = "quota.scheduling.koordinator.sh/"
"""Of the labels and annotations that Koordinator's scheduler reads."""


def policy_of(case: Mapping[str, Any]) -> Policy:
    """Return the policy of a case."""
    made = case["policy"]
    topologies = tuple(Topology(name=name, levels=tuple(levels)) for name, levels in made["topologies"].items())
    pools = tuple(
        NodePool(
            id=pool["id"],
            accelerator=Accelerator(model="h100", count=8),
            cpu=96,
            memory="1Ti",
            min_nodes=0,
            max_nodes=pool["nodes"],
            topology=pool["topology"],
        )
        for pool in made["pools"]
    )
    cluster = Cluster(
        name="c",
        engine=Engine(case["engine"]),
        engine_version=made["engine_version"],
        kubernetes_version="1.34.0",
        pools=pools,
        topologies=topologies,
        placement=Placement(**{what: PlacementStrategy(how) for what, how in made["placement"].items()}),
    )
    return Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        node_pools=pools,
        queues=tuple(
            Queue(
                id=name,
                owner=f"@acme/{name}",
                namespaces=(name,),
                guaranteed=None if gpus is None else Resources(gpu=gpus),
            )
            for name, gpus in made["queues"].items()
        ),
        priority_classes=tuple(
            PriorityClass(name=name, value=value, preemptible=True)
            for name, value in made.get("priorities", {}).items()
        ),
        environments=(Environment(name="prod", clusters=(cluster,)),),
    )


def objects_of(case: Mapping[str, Any]) -> list[Made]:
    """Return the compiled objects that the engine decides on, without metadata that it does not read."""
    return [
        _read_part(dict(made)) for made in compiled(policy_of(case)).objects if made["kind"] in KINDS[case["engine"]]
    ]


def _read_part(made: Made) -> Made:
    metadata = {key: made["metadata"][key] for key in ("name", "namespace") if key in made["metadata"]}
    for family in ("labels", "annotations"):
        read = {k: v for k, v in made["metadata"].get(family, {}).items() if k.startswith(_READ_PREFIX)}
        metadata |= {family: read} if read else {}
    return {**made, "metadata": metadata}


def levels_of(case: Mapping[str, Any]) -> list[str]:
    """Return the levels of the first topology above the node, widest first."""
    levels = next(iter(case["policy"]["topologies"].values()))
    return [level for level in levels if level != HOSTNAME_LABEL]


def domain_nodes(case: Mapping[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Return the nodes of each domain, by level and value; a node belongs to it if it has the labels of all lower levels."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for name, labels in node_labels(case).items():
        for level in takewhile(labels.__contains__, reversed(levels_of(case))):
            found[level, labels[level]].add(name)
    return found


def node_labels(case: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """Return the labels of each node; a missing one is that of the other nodes in its domain of a lower level."""
    nodes: dict[str, Mapping[str, str]] = {name: node["labels"] for name, node in case["nodes"].items()}
    paths = _paths(case)
    known: dict[tuple[str, str], Mapping[str, str]] = {}
    for labels in nodes.values():
        for level, above in paths.items():
            if level in labels:
                found = {key: labels[key] for key in above if key in labels}
                known[level, labels[level]] = {**found, **known.get((level, labels[level]), {})}
    for name, labels in nodes.items():
        for level in reversed(paths):
            if level in labels:
                nodes[name] = {**known[level, labels[level]], **nodes[name]}
    return nodes


def _paths(case: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Return the labels of each level and of those above it."""
    return {
        level: levels[: number + 1]
        for levels in case["policy"]["topologies"].values()
        for number, level in enumerate(levels)
        if level != HOSTNAME_LABEL
    }


@dataclass(frozen=True)
class _Gang:
    """A workload: its pods by name with the GPUs of each, the minimum that starts together, and the level it requires."""

    name: str
    queue: str
    priority: str
    gpus: Mapping[str, int]
    minimum: int
    level: str | None
    pinned: str | None
    arrives_s: float
    leaves_s: float


@dataclass
class Replay:
    """A recorded case, replayed event by event, and what contradicts the meaning of the policy."""

    case: Mapping[str, Any]
    placed: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _gangs(self) -> dict[str, _Gang]:
        return {
            made["name"]: _Gang(
                made["name"],
                made["queue"],
                made.get("priority", ""),
                {
                    f"{made['name']}-{task['name']}-{number}": task["gpus"]
                    for task in made["tasks"]
                    for number in range(task["pods"])
                },
                made["minimum"],
                made.get("level"),
                made.get("node"),
                made["at"],
                made["at"] + made["stays"] if made.get("stays") else float("inf"),
            )
            for made in self.case["workloads"]
        }

    @cached_property
    def _levels(self) -> dict[str, Sequence[str]]:
        return _paths(self.case)

    @cached_property
    def _labels(self) -> dict[str, Mapping[str, str]]:
        return node_labels(self.case)

    def violations(self) -> list[str]:
        """Return each state that contradicts the policy: at any time, and when the engine has nothing left to do."""
        found: list[str] = []
        quiet = [*sorted({t for gang in self._gangs.values() for t in (gang.arrives_s, gang.leaves_s)}), float("inf")]
        quiet = [*quiet, *(lost["at"] for made in self.case["workloads"] for lost in made.get("lost", ()))]
        events = [*self.case["events"], *([t, "quiet", "", ""] for t in sorted(set(quiet)) if t > 0)]
        # At the same time, the state before an arrival is checked first.
        for at, what, pod, node in sorted(events, key=lambda event: (event[0], event[1] != "quiet")):
            if what == "bound":
                self.placed[pod] = node
                found += (f"{at}s: {each}" for each in self._outside(self._gangs[pod.split("-")[0]]))
            elif what == "quiet":
                # Where workloads compete, which of them runs is a matter of other features.
                if self.case.get("competes"):
                    continue
                found += (f"before {at}s: {each}" for each in self._idle(at))
            else:
                self.placed.pop(pod, None)
        return list(dict.fromkeys(found))

    def _outside(self, gang: _Gang) -> Iterator[str]:
        """Yield that the pods of a gang are not in one domain of the level that it requires."""
        nodes = {self.placed[pod] for pod in gang.gpus if pod in self.placed}
        if gang.level is None or len(nodes) < 2:
            return
        labels = [self._labels[node] for node in nodes]
        own = {each.get(gang.level) for each in labels}
        above = [{each[key] for each in labels if key in each} for key in self._levels[gang.level]]
        if None in own or any(len(values) > 1 for values in above):
            yield f"{gang.name} requires {gang.level} and runs on {sorted(nodes)}"

    def _idle(self, at: float) -> Iterator[str]:
        """Yield gangs that wait although they fit, at a time when the engine has decided on all that arrived before."""
        for gang in self._gangs.values():
            waiting = [gpus for pod, gpus in gang.gpus.items() if pod not in self.placed]
            # Pods without GPUs fit on any node; the others of a gang are alike.
            size = max(waiting, default=0)
            if not gang.arrives_s < at <= gang.leaves_s or size == 0:
                continue
            running = {pod: self.placed[pod] for pod in gang.gpus if pod in self.placed}
            least = max(1, gang.minimum - len(running))
            least_with_gpus = max(1, least - waiting.count(0))
            room = self._room(gang, sum(waiting))
            for domain, nodes in self._domains(gang).items():
                if nodes.issuperset(running.values()) and sum(room[node] // size for node in nodes) >= least_with_gpus:
                    yield f"{gang.name} waits, but {least} of its pods fit into {domain or 'the cluster'}"
                    break

    def _room(self, gang: _Gang, requested: int) -> dict[str, int]:
        """The GPUs of each node that are free, or held by pods that the gang may evict."""
        room = {name: node["gpus"] for name, node in self.case["nodes"].items()}
        classes, guarantees = self.case["policy"].get("priorities", {}), self.case["policy"]["queues"]
        owners = {pod: self._gangs[pod.split("-")[0]] for pod in self.placed}
        held = sum(owner.gpus[pod] for pod, owner in owners.items() if owner.queue == gang.queue)
        is_guaranteed = held + requested <= (guarantees[gang.queue] or 0)
        for pod, node in self.placed.items():
            owner = owners[pod]
            is_lower = owner.queue == gang.queue and classes.get(owner.priority, 0) < classes.get(gang.priority, 0)
            if not is_lower and not (is_guaranteed and owner.queue != gang.queue):
                room[node] -= owner.gpus[pod]
        return room

    def _domains(self, gang: _Gang) -> Mapping[tuple[str, ...], set[str]]:
        """The nodes of each domain of the level that a gang requires; only nodes with the labels of all levels belong to one."""
        nodes = self.case["nodes"]
        if gang.pinned is not None:
            return {(): {gang.pinned}}
        if gang.level is None:
            return {(): set(nodes)}
        domains: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        levels = next(
            [level for level in levels if level != HOSTNAME_LABEL]
            for levels in self.case["policy"]["topologies"].values()
            if gang.level in levels
        )
        for name, node in nodes.items():
            if all(level in node["labels"] for level in levels):
                domains[tuple(node["labels"][level] for level in self._levels[gang.level])].add(name)
        return domains
