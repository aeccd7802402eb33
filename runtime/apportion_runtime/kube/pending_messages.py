"""The messages of pending pods and pod groups, as sentences: the condition `PodScheduled` and the event `Unschedulable`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from apportion_runtime.core.capacity import OVER_LIMIT
from apportion_runtime.core.explain.pending import PendingJob
from apportion_runtime.core.explain.pending_reasons import NoDomain, OverFairShare, OverLimit, UnusableQueue
from apportion_runtime.snapshots.faults import UNREADABLE, Fault

QueueFaults = Mapping[str, Sequence[Fault]]
"""The faults of each malformed queue."""

_PREDICATE = re.compile(r"^(?:[A-Z][a-z]+){2,}: ")
"""The name of the predicate at the start of a line of the engine."""
_CONDITIONS = re.compile(r"Scheduling conditions were not met for pod \S+: (?:(?:[A-Z][a-z]+){2,}: )?")
_DOMAIN = re.compile(r"^<([^>]+)>: (?=.*\1)")
"""A topology domain that the line names again."""


_OVER_LIMIT = re.compile(r"^(\S+) quota has reached the allowable limit")


def pending_message(pending: PendingJob, queues: QueueFaults, refusal: str | None = None) -> str:
    """Return why a job is pending; empty if nothing is known.

    The engine's fit errors take precedence over the reasons, which change more often, except for an unusable queue.

    Args:
        pending: The job.
        queues: The faults of queues.
        refusal: Why evictions for the job were refused.
    """
    unusable = next((reason for reason in pending.reasons if isinstance(reason, UnusableQueue)), None)
    if unusable is not None:
        clauses = [*_unusable(unusable, queues)]
    elif pending.noted:
        clauses = [*_noted(pending.noted), *_bounds(pending, queues)]
    else:
        clauses = [*_reasons(pending), *_bounds(pending, queues)]
    if refusal is not None:
        clauses.append(refusal)
    return " ".join(map(sentence, dict.fromkeys(clauses)))


def sentence(clause: str) -> str:
    """Return a clause as a sentence in one line."""
    text = " ".join(clause.split()).rstrip(" .;:")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('?', '!')) else '.'}" if text else ""


def _unusable(reason: UnusableQueue, queues: QueueFaults) -> Iterator[str]:
    wrong = [fault for fault in queues.get(reason.missing or "", ()) if fault.kind == UNREADABLE]
    if not wrong:
        yield reason.text
        yield reason.cure
        return
    if reason.missing != reason.queue:
        yield f"queue {reason.queue} is ignored: its ancestor {reason.missing} cannot be read"
    for fault in wrong:
        yield f"queue {reason.missing} is ignored: {fault.message}"
        yield fault.hint


def _noted(noted: str) -> Iterator[str]:
    """Yield the sentences of the engine's fit errors, without their heading and the names of predicates."""
    said = ""
    for line in noted.splitlines()[1:]:
        text = _DOMAIN.sub("", _PREDICATE.sub("", " ".join(line.split()).rstrip(" .")))
        if not text:
            continue
        said = f"{said} {text}" if said else text
        # What was not met is in the next line.
        if not said.endswith(":"):
            yield _OVER_LIMIT.sub(r"queue \1 has reached the allowable limit", _CONDITIONS.sub("", said))
            said = ""
    if said:
        yield said


def _reasons(pending: PendingJob) -> Iterator[str]:
    for reason in pending.reasons:
        if isinstance(reason, NoDomain):
            yield from (_DOMAIN.sub("", message) for message in reason.messages)
        else:
            yield reason.text


def _bounds(pending: PendingJob, queues: QueueFaults) -> Iterator[str]:
    """Yield the invalid amounts of the queues whose limit or share keeps the job pending, and what to do."""
    for reason in pending.reasons:
        if not isinstance(reason, OverLimit | OverFairShare):
            continue
        field = ""
        if isinstance(reason, OverLimit):
            field = "limit" if reason.reason == OVER_LIMIT else "quota"
        for fault in queues.get(reason.queue, ()):
            if f".{reason.resource}.{field}" in fault.message:
                yield f"in queue {reason.queue}, {fault.message}"
                yield fault.hint
