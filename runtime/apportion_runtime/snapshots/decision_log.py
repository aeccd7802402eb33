"""The decision log of the live scheduler: a line of JSON for each cycle, from which the cycle is replayed.

A record has the objects that changed since the record before it, or all of them if it is `full`. The writer is
`apportion_runtime.kube.decision_log_writer`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.session import Session
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

KEYS = ("cycle", "version", "at", "shard", "protected", "full", "objects", "removed", "decisions")
"""The keys of a record, in this order."""
Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""


class DecisionLogError(ValueError):
    """The log cannot be read; the message is one clause."""


@dataclass(frozen=True, slots=True)
class RecordedCycle:
    """One cycle of the log.

    Attributes:
        number: Its number, which counts from 1 and continues after a restart.
        version: The version of the scheduler that wrote it.
        at: Its time, in seconds since 1970.
        shard: Its SchedulingShard, if it was given.
        protected: Jobs that were not to be evicted, since an eviction had been refused.
        objects: The objects of the cluster, by kind, namespace and name.
        decisions: The document of its decisions.
    """

    number: int
    version: str
    at: float
    shard: str | None
    protected: tuple[str, ...]
    objects: tuple[Mapping[str, Any], ...]
    decisions: Mapping[str, Any]


def key_of(manifest: Mapping[str, Any]) -> Key:
    """Return the key of an object."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def recorded_cycle(lines: Iterable[str], number: int, name: str) -> RecordedCycle:
    """Return a cycle of a log.

    Raises:
        DecisionLogError: If the log lacks the cycle, or a record before it is damaged.
    """
    held: dict[Key, Mapping[str, Any]] | None = None
    found: dict[str, Any] | None = None
    numbers: list[int] = []
    for at, line in enumerate(lines, start=1):
        record = _record(line, f"{name}:{at}")
        if record is None:
            # The writer was interrupted: it begins a line with all objects after that.
            held = None
            continue
        if record["full"]:
            held = {}
        if held is None:
            continue
        for one in record["objects"]:
            held[key_of(one)] = one
        for key in record["removed"]:
            held.pop(tuple(key), None)
        numbers.append(record["cycle"])
        found = record
        if record["cycle"] == number:
            break
    if held is None or found is None or found["cycle"] != number:
        contents = (
            f"the log contains cycles {numbers[0]} to {numbers[-1]}"
            if numbers
            else "the log contains no complete cycle"
        )
        raise DecisionLogError(f"{name} does not contain cycle {number}; {contents}")
    objects = tuple(held[key] for key in sorted(held))
    return RecordedCycle(
        found["cycle"],
        found["version"],
        found["at"],
        found["shard"],
        tuple(found["protected"]),
        objects,
        found["decisions"],
    )


def replayed(recorded: RecordedCycle) -> Session:
    """Return the session of a recorded cycle after its actions."""
    faults: list[Fault] = []
    found = [LocatedObject(dict(one), ObjectLocation(0, number)) for number, one in enumerate(recorded.objects)]
    read = read_cluster(found, faults, now=recorded.at, shard=recorded.shard)
    session = Session(read.snapshot, read.settings)
    session.protect(frozenset(recorded.protected))
    return run_actions(session)


def cycle_number(line: str) -> int | None:
    """Return the number of the cycle in a line, without reading the rest of it; None if it is not a record."""
    beginning = '{"cycle": '
    digits = line[len(beginning) : len(beginning) + 20].partition(",")[0]
    return int(digits) if line.startswith(beginning) and digits.isdecimal() else None


def _record(line: str, place: str) -> dict[str, Any] | None:
    """Return a record; None if its line is incomplete."""
    if cycle_number(line) is None:
        raise DecisionLogError(f"{place}: not a decision log record")
    try:
        record: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    if tuple(record) != KEYS:
        raise DecisionLogError(f"{place}: a record must have the keys {', '.join(KEYS)}")
    return record
