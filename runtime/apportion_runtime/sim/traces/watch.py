"""The load of a live cluster, from a recorded watch of its pods and nodes. docs/traces.md has the rules."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.traces.daemon_pods import daemon_requests, is_daemon_pod, without_daemons
from apportion_runtime.sim.traces.records import JobEnd, SkippedRow, Source, Trace, TraceJob, TraceNode
from apportion_runtime.sim.traces.rows import BadRow, kubernetes_name
from apportion_runtime.sim.traces.timestamps import since_first_arrival
from apportion_runtime.sim.traces.watch_events import WatchedObject, watched_objects
from apportion_runtime.sim.traces.watched_nodes import node_of
from apportion_runtime.sim.traces.watched_pods import UNSUPPORTED, WatchedPod, pod_of, priority_named, queue_named

_Member = tuple[WatchedObject, WatchedPod]
_LONGEST_NAME = 40
"""Longer names get a checksum, so that names that differ at their end stay different."""


@dataclass(frozen=True, slots=True)
class WatchRules:
    """The settings that pods lack.

    Attributes:
        queues: The queue by the one that a pod names, or by its namespace.
        priorities: The priority class by the one that a pod names.
        priority: The class of pods that name none.
    """

    queues: Mapping[str, str] = field(default_factory=dict)
    priorities: Mapping[str, str] = field(default_factory=dict)
    priority: str = "train"


@dataclass(slots=True)
class _Found:
    """What the objects of a recording are.

    Attributes:
        nodes: Nodes with their names in the cluster.
        groups: The pods of each group, and each other pod, by namespace, name, and whether it is a group.
        node_names: The names of the nodes in the trace.
        daemons: Pods that reduce what a node has, with their requests, by the name of the node.
    """

    nodes: list[tuple[str, TraceNode]] = field(default_factory=list)
    groups: dict[tuple[str, str, bool], list[_Member]] = field(default_factory=dict)
    node_names: set[str] = field(default_factory=set)
    daemons: dict[str, list[tuple[WatchedObject, Mapping[str, int]]]] = field(default_factory=dict)

    def add(self, watched: WatchedObject, rules: WatchRules) -> None:
        """Add an object. Raises `BadRow`."""
        if watched.kind == "Node":
            made = node_of(watched, _name(watched.name))
            self.nodes.append((watched.name, replace(made, name=_unique(made.name, "run", self.node_names))))
        elif watched.kind != "Pod":
            raise BadRow(f"the {watched.kind} is neither a node nor a pod")
        elif is_daemon_pod(watched):
            node, requests = daemon_requests(watched)
            self.daemons.setdefault(node, []).append((watched, requests))
        else:
            pod = pod_of(watched, _queue(watched, rules), _priority(watched, rules))
            self.groups.setdefault((pod.namespace, pod.name, pod.is_grouped), []).append((watched, pod))


def read_watch(recording: Source, rules: WatchRules | None = None) -> Trace:
    """Return the nodes and pods of a recording; the pods of a Job or pod group are one job.

    Raises:
        TraceError: If it has a different format.
    """
    rules = WatchRules() if rules is None else rules
    skips: list[SkippedRow] = []
    watched = watched_objects(recording, skips)
    n_rows = len(watched) + len(skips)
    found = _Found()
    for each in watched:
        try:
            found.add(each, rules)
        except BadRow as bad:
            skips.append(SkippedRow(recording.file, each.line, bad.reason, bad.cure))
    for each in _without_node(found):
        skips.append(SkippedRow(recording.file, each.line, "the recording does not include the pod's node"))
    names: set[str] = set()
    jobs = [job for members in found.groups.values() for job in _jobs(recording.file, members, names)]
    shifted, begin = since_first_arrival(jobs)
    nodes = [
        _since(without_daemons(node, [requests for _, requests in found.daemons.get(name, ())]), begin)
        for name, node in found.nodes
    ]
    skips.sort(key=lambda skip: skip.line)
    warnings = tuple(_warnings(found, watched))
    return Trace("watch", tuple(nodes), shifted, tuple(skips), n_rows, begin, warnings)


def _without_node(found: _Found) -> Iterator[WatchedObject]:
    known = {name for name, _ in found.nodes}
    for node, daemons in found.daemons.items():
        if node not in known:
            yield from (watched for watched, _ in daemons)


def _since(node: TraceNode, begin: float | None) -> TraceNode:
    start_s = node.joins_s if begin is None else begin
    return replace(
        node,
        joins_s=max(0.0, node.joins_s - start_s),
        leaves_s=None if node.leaves_s is None else max(0.0, node.leaves_s - start_s),
    )


def _queue(watched: WatchedObject, rules: WatchRules) -> str:
    named = queue_named(watched)
    queue = rules.queues.get(named)
    return kubernetes_name(named) if queue is None else queue


def _priority(watched: WatchedObject, rules: WatchRules) -> str:
    named = priority_named(watched)
    return rules.priorities.get(named, named or rules.priority)


def _name(text: str) -> str:
    made = kubernetes_name(text)
    if len(text) <= _LONGEST_NAME:
        return made
    return f"{made[:_LONGEST_NAME].strip('-')}-{zlib.crc32(text.encode()):08x}"


def _unique(name: str, suffix: str, names: set[str]) -> str:
    """Return a name that is not among the names, and add it to them."""
    numbered = (f"{name}-{suffix}{number}" for number in count(2))
    made = next(each for each in chain((name,), numbered) if each not in names)
    names.add(made)
    return made


def _jobs(file: str, members: Sequence[_Member], names: set[str]) -> Iterator[TraceJob]:
    """Yield a job for each shape among the pods of a group."""
    shapes: dict[TraceJob, list[_Member]] = {}
    for member in members:
        shapes.setdefault(member[1].shape, []).append(member)
    first = members[0][1]
    name = _name(f"{first.namespace}-{first.name}")
    for shape, alike in shapes.items():
        pods = [pod for _, pod in alike]
        yield replace(
            shape,
            name=_unique(name, "", names),
            file=file,
            line=alike[0][0].line,
            n_pods=_most_at_once(pods),
            arrives_s=min(pod.created_s for pod in pods),
            stays_s=_stays_s(pods),
            end=_end(pods),
        )


def _most_at_once(pods: Sequence[WatchedPod]) -> int:
    """Return the largest number of pods that existed at a time; a replacement may exist as its predecessor ends."""
    changes = [(pod.created_s, 1, 1) for pod in pods]
    changes += [(pod.ended_s, 0, -1) for pod in pods if pod.ended_s is not None]
    most = now = 0
    for _, _, change in sorted(changes):
        now += change
        most = max(most, now)
    return max(1, most)


def _stays_s(pods: Sequence[WatchedPod]) -> float | None:
    """Return the time from the first start, or creation if none started, to the last end."""
    starts = [pod.started_s for pod in pods if pod.started_s is not None] or [pod.created_s for pod in pods]
    ends = [pod.ended_s for pod in pods if pod.ended_s is not None]
    return max(ends) - min(starts) if len(ends) == len(pods) else None


def _end(pods: Sequence[WatchedPod]) -> JobEnd:
    ends = {pod.end for pod in pods}
    return next(
        end for end in (JobEnd.OPEN, JobEnd.SUCCEEDED, JobEnd.FAILED, JobEnd.STOPPED, JobEnd.NEVER_RAN) if end in ends
    )


def _warnings(found: _Found, watched: Sequence[WatchedObject]) -> Iterator[str]:
    pods = [pod for members in found.groups.values() for _, pod in members]
    for name in UNSUPPORTED:
        n_pods = sum(name in pod.unsupported for pod in pods)
        if n_pods:
            yield f"{counted(n_pods, 'pod has', 'pods have')} {name}, which the simulation ignores"
    n_mixed = sum(len({pod.shape for _, pod in members}) > 1 for members in found.groups.values())
    if n_mixed:
        has = counted(n_mixed, "group has", "groups have")
        yield f"{has} pods with different requests; pods with the same requests form one job, which starts independently"
    n_deleted = sum(each.kind == "Node" and each.is_deleted for each in watched)
    n_left = n_deleted - sum(node.leaves_s is not None for _, node in found.nodes)
    if n_left:
        nodes, them = counted(n_left, "node was", "nodes were"), "it" if n_left == 1 else "them"
        yield f"{nodes} deleted at an unknown time; the simulation keeps {them}"
