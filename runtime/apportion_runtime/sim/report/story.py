"""The main events of a simulation, one line each, at most as many as fit a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion_api.counted_nouns import agreeing, counted
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.report.number_format import elapsed

MOST_LINES = 20
_TOLD = {
    "refused": 0, "evicted": 0, "node-failed": 0, "denied": 1, "scaled": 1, "started": 1, "waiting": 1, "finished": 1,
    "request-failed": 0, "booking-expired": 0, "capacity-revoked": 0, "request-provisioned": 1, "retried": 2,
    "jumped": 1, "priority": 1, "backoff": 1, "requeued": 2,
    "deleted": 1, "node-drained": 1, "arrived": 2, "node-joined": 3, "node-left": 3, "node-asked": 3,
}  # fmt: skip
"""The events in the story, with a rank: the highest ranks are omitted first if there are too many."""
_WORDS = {
    "arrived": "arrives", "started": "starts", "waiting": "waits", "finished": "finished", "refused": "is rejected",
    "scaled": "scales", "denied": "has pods rejected", "node-failed": "fails", "node-drained": "drains",
    "node-joined": "joins", "node-left": "leaves", "node-asked": "is requested", "deleted": "is deleted",
    "request-provisioned": "receives its nodes", "request-failed": "fails", "booking-expired": "loses its reservation",
    "capacity-revoked": "loses its nodes", "retried": "is retried",
    "jumped": "moves to the head of the queue", "priority": "changes priority", "backoff": "backs off",
    "requeued": "is requeued",
}  # fmt: skip


@dataclass(slots=True)
class _Entry:
    """Facts of one time that are reported as one event: the lost pods of a gang, joining nodes."""

    first: Fact
    count: int = 1
    pods: int = 0


def story(history: History, most: int = MOST_LINES) -> list[str]:
    """Return the events as lines, at most a number of them; the last line counts the omitted ones."""
    entries = _entries(history.facts)
    shown = entries
    if len(shown) > most:
        ranked = sorted(range(len(entries)), key=lambda number: (_TOLD[entries[number].first.what], number))
        shown = [entries[number] for number in sorted(ranked[: most - 1])]
    lines = [f"{elapsed(entry.first.at_s)}  {_line(entry)}" for entry in shown]
    if len(shown) < len(entries):
        lines.append(f"… and {counted(len(entries) - len(shown), 'more event')}; -o jsonl lists all events")
    return lines


def _entries(facts: Sequence[Fact]) -> list[_Entry]:
    found: list[_Entry] = []
    last: dict[tuple[float, str, str, str], _Entry] = {}
    for fact in facts:
        if fact.what not in _TOLD:
            continue
        about = fact.node.rpartition("-")[0] if fact.what.startswith("node-") else fact.workload
        key = (fact.at_s, fact.what, about, fact.by)
        entry = last.get(key)
        if entry is not None and (fact.what == "evicted" or fact.what.startswith("node-")):
            entry.count += 1
            continue
        entry = last[key] = _Entry(fact)
        found.append(entry)
    return found


def _line(entry: _Entry) -> str:
    fact = entry.first
    who = fact.workload or fact.node or "a request"
    if fact.queue:
        who = f"{who} ({fact.queue})"
    if fact.what == "evicted":
        for_whom = f" for {fact.by}" if fact.by else ""
        return (
            f"{counted(entry.count, 'pod')} of {who} {agreeing(entry.count, 'is', 'are')} evicted{for_whom}: {fact.why}"
        )
    if fact.what.startswith("node-") and entry.count > 1:
        pool = fact.node.rpartition("-")[0]
        plural = {"joins": "join", "leaves": "leave", "fails": "fail", "drains": "drain"}
        word = _WORDS[fact.what]
        return f"{counted(entry.count, 'node')} of {pool} {plural.get(word, 'are requested')}"
    if fact.what == "scaled":
        return f"{who} {_WORDS[fact.what]} {fact.why}"
    if fact.what == "deleted":
        return f"{fact.why} is deleted"
    return f"{who} {_WORDS[fact.what]}" + (f": {fact.why}" if fact.why else "")
