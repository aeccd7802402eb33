"""Decisions of a cycle as text with 80 columns: bound pods, pipelined pods, evictions, pending jobs, queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apportion_api.counted_nouns import agreeing, counted
from apportion_cli.console import Style

if TYPE_CHECKING:
    from apportion_runtime.core.explain.evictions import Eviction
    from apportion_runtime.core.session import Session

_WIDTH = 80
_MOST_NAMED = 4


def decisions_text(session: Session, style: Style) -> str:
    """Return the decisions of a cycle and their reasons."""
    from apportion_runtime.core.explain.evictions import evictions
    from apportion_runtime.core.explain.pending import pending_jobs
    from apportion_runtime.snapshots.decisions import decisions_document

    document = decisions_document(session)
    pending = sorted(pending_jobs(session), key=lambda job: (job.namespace, job.name))
    evicted = list(_evicted(sorted(evictions(session), key=lambda made: made.name)))
    lines = [*_wrapped(_head(session, document)), ""]
    for title, placed in (
        ("Bound", document["binds"]),
        ("Waiting for resources to be released", document["pipelines"]),
    ):
        if placed:
            lines += [style("heading", title), *_indented(_placed(placed)), ""]
    if evicted:
        lines += [style("heading", "Evicted"), *_indented(evicted), ""]
    if pending:
        lines += [style("heading", "Pending"), *_indented(line for job in pending for line in job.lines), ""]
    lines += [style("heading", "Queues"), *_indented(_queues(document["queues"]))]
    return "\n".join(lines) + "\n"


def job_text(document: Mapping[str, Any], explained: Sequence[str], evicted: Iterable[Sequence[str]]) -> str:
    """Return one job's explanation: why it is pending, the nodes of its pods, and evictions.

    Args:
        document: The result of `job_document`.
        explained: The lines of the job's own explanation.
        evicted: The lines of the evictions of its pods.
    """
    head, *reasons = explained
    lines = [head, *reasons]
    if not reasons:
        lines.append("  no pending pods" if document["pods"] else "  the pod group has no pods")
    places: dict[str, list[str]] = {}
    for pod in document["pods"]:
        where = f"{pod['status']} on {pod['node']}" if pod["node"] else pod["status"]
        places.setdefault(where, []).append(pod["pod"])
    lines += ["", "pods"] if places else []
    lines += [f"  {where}: {_some(names)}" for where, names in sorted(places.items())]
    for each in evicted:
        lines += ["", *each]
    return "\n".join(_wrapped(lines)) + "\n"


def reported_text(reported: Mapping[str, Sequence[str]]) -> str:
    """Return what the scheduler reported about the pods of a job, and the heading of the simulated explanation.

    Args:
        reported: The messages, each with the names of its pods.
    """
    lines = [f"  {_some(pods)}: {message}" for message, pods in reported.items()]
    if lines:
        lines = ["Reported by the scheduler (PodScheduled)", *lines, ""]
    return "\n".join(_wrapped([*lines, "Simulated next cycle"])) + "\n"


def queue_text(document: Mapping[str, Any], explained: Sequence[str]) -> str:
    """Return one queue's explanation: its usage, and the computation of its fair share."""
    lines = [f"queue {document['queue']}", *(f"  {line}" for line in _amounts(document)), "", *explained]
    return "\n".join(_wrapped(lines)) + "\n"


def _head(session: Session, document: Mapping[str, Any]) -> Iterator[str]:
    snapshot = session.snapshot
    yield f"Cycle at {document['now']}"
    counts = (
        (len(snapshot.nodes), "node"),
        (len(snapshot.queues), "queue"),
        (len(snapshot.pod_groups), "job"),
        (len(snapshot.pods), "pod"),
    )
    yield ", ".join(counted(n, word) for n, word in counts)
    yield f"actions: {', '.join(document['actions'])}"
    decided = (
        f"{counted(len(document['binds']), 'pod')} bound",
        f"{len(document['pipelines'])} waiting for resources to be released",
        f"{len(document['evictions'])} evicted",
        f"{counted(len(document['pending']), 'job')} pending",
    )
    yield ", ".join(decided)


def _evicted(found: Sequence[Eviction]) -> Iterator[str]:
    """Yield evictions, with pods of a job that are evicted for the same reason in one line."""
    together: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for made in found:
        head, *rest = made.lines
        together.setdefault((head.removeprefix(f"pod {made.name}"), tuple(rest)), {})[made.name] = None
    for (of, why), names in together.items():
        yield f"{agreeing(len(names), 'pod')} {_some(list(names))}{of}"
        yield from why


def _placed(placed: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    jobs: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for made in placed:
        key = (made["namespace"], made["job"], made["queue"])
        jobs.setdefault(key, {}).setdefault(made["node"] or "-", []).append(made["pod"])
    for (namespace, job, queue), nodes in sorted(jobs.items()):
        yield f"job {namespace}/{job} in queue {queue}"
        for node, pods in sorted(nodes.items()):
            yield f"  {node}: {_some(sorted(pods))}"


def _queues(queues: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    children: dict[str | None, list[Mapping[str, Any]]] = {}
    for queue in queues:
        children.setdefault(queue["parent"], []).append(queue)
    for queue, depth in _tree(children, None, 0):
        yield f"{'  ' * depth}{queue['queue']}"
        for line in _amounts(queue):
            yield f"{'  ' * depth}  {line}"


def _tree(
    children: Mapping[str | None, Sequence[Mapping[str, Any]]], parent: str | None, depth: int
) -> Iterator[tuple[Mapping[str, Any], int]]:
    for queue in children.get(parent, ()):
        yield queue, depth
        yield from _tree(children, queue["queue"], depth + 1)


def _amounts(queue: Mapping[str, Any]) -> Iterator[str]:
    from apportion_runtime.core.explain.amounts import quantity
    from apportion_runtime.core.resources import CPU, GPU, MEMORY
    from apportion_runtime.core.shares import RESOURCES

    for r in (GPU, CPU, MEMORY):
        has = queue[RESOURCES[r]]
        if not has["requested"] and not has["allocated"]:
            continue
        numbers = f"{quantity(has['allocated'], r)} allocated, fair share {quantity(has['fairShare'], r)}"
        yield f"{numbers}, quota {quantity(has['quota'], r)}, requested {quantity(has['requested'], r)}"


def _some(names: Sequence[str]) -> str:
    left = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {left} more" if left > 0 else "")


def _indented(lines: Iterable[str]) -> Iterator[str]:
    yield from _wrapped(f"  {line}" for line in lines)


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    from apportion_runtime.core.explain.text import wrapped

    return wrapped(lines, _WIDTH)
