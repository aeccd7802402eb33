"""The result of a fit as text with 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from apportion_api.counted_nouns import agreeing, counted
from apportion_policy.quantity import gpu_text
from apportion_review.fit.records import Change, ChangeKind, Decision, Ending, Fit, Outcome, Placement, Size, Start
from apportion_runtime.snapshots.quantities import time_text

_WIDTH = 80
_MOST_NAMED = 4
_MOST_ROWS = 12
_LABELS = {
    ChangeKind.SIZE: "fewer pods",
    ChangeKind.REQUEST: "smaller pods",
    ChangeKind.QUOTA: "more quota",
    ChangeKind.NODES: "more nodes",
}
_WIDEST = max(map(len, _LABELS.values()))


def fit_text(fit: Fit) -> str:
    """Return the result as text, with the decision in its first lines."""
    paragraphs = [list(_head(fit)), list(_decision(fit))]
    if fit.size is not None:
        paragraphs.append(list(_size(fit.size, fit.decision.reason)))
    if fit.free:
        paragraphs.append(["Free now:", *(f"  {clause}" for clause in fit.free)])
    if fit.start is not None:
        paragraphs.append(list(_start(fit.start)))
    if fit.changes:
        paragraphs.append(["Changes that would let it start now, each verified by simulation:", *_changes(fit.changes)])
    elif fit.decision.outcome not in (Outcome.NOW, Outcome.UNDECIDED) and fit.size is not None:
        lets = "was found that would let" if fit.is_incomplete else "would let"
        without = " without evictions" if fit.decision.victims else ""
        paragraphs.append([f"No single change to the workload, its quota or the nodes {lets} it start now{without}."])
    paragraphs.append([f"Note: {note}" for note in fit.notes])
    return "\n\n".join("\n".join(_wrapped(paragraph)) for paragraph in paragraphs if paragraph) + "\n"


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines wrapped to the width, with continuations indented by two; paths and names are never broken."""
    for line in lines:
        hanging = " " * (len(line) - len(line.lstrip()) + 2)
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
        )


def headline(fit: Fit) -> str:
    """Return a short form of the decision: `starts now`."""
    decision = fit.decision
    if decision.outcome is Outcome.AFTER_EVICTIONS:
        return f"starts after evicting {counted(len(decision.victims), 'workload')}"
    return str(decision.outcome.value)


def _head(fit: Fit) -> Iterator[str]:
    work = fit.workload
    yield f"{work.kind} {work.namespace}/{work.name}: {headline(fit)}"
    bound = " (assigned)" if work.is_bound else ""
    yield f"  {counted(max(work.n_pods, fit.decision.n_pods), 'pod')}, {_gpus(work.gpus)}, queue {work.queue}{bound}"
    yield f"  {fit.cluster}, {fit.engine_title}"
    if fit.snapshot and fit.taken is not None:
        counts = f"{counted(fit.n_running, 'workload')} running, {fit.n_waiting} waiting"
        yield f"  snapshot {fit.snapshot} from {time_text(float(int(fit.taken)))}: {counts}"


def _decision(fit: Fit) -> Iterator[str]:
    decision = fit.decision
    if decision.placements and decision.outcome in (Outcome.NOW, Outcome.AFTER_EVICTIONS, Outcome.LATER):
        yield "Placement:"
        yield from (f"  {_placement(each, fit.snapshot)}" for each in decision.placements)
    if decision.flavors:
        yield f"Quota: {agreeing(len(decision.flavors), 'flavor')} {', '.join(decision.flavors)}"
    if decision.victims:
        yield "Evicted workloads:"
        yield from _victims(decision)
    if decision.reason:
        yield "Reason:"
        yield f"  {decision.reason}"
        if 0 < decision.n_placed < decision.n_pods:
            yield f"  {decision.n_placed} of its {decision.n_pods} pods would be assigned to nodes."


def _placement(placed: Placement, snapshot: str) -> str:
    pods = counted(placed.n_pods, "pod")
    pool = f"pool {placed.pool}" if placed.pool else "nodes without a pool label"
    # The nodes of an idle cluster have no meaningful names.
    where = f" on {_some(placed.nodes)}" if snapshot else f" on {counted(len(placed.nodes), 'node')}"
    return f"{pool}: {pods}{where}"


def _victims(decision: Decision) -> Iterator[str]:
    for each in decision.victims[:_MOST_ROWS]:
        name = f"{each.kind} {each.namespace}/{each.name}"
        yield f"  {name}: {counted(each.n_pods, 'pod')}, {_gpus(each.gpus)}, queue {each.queue} ({each.rule})"
    left = len(decision.victims) - _MOST_ROWS
    if left > 0:
        yield f"  and {left} more"
    messages = list(dict.fromkeys(each.message for each in decision.victims if each.message))
    yield from (f"    {message}" for message in messages[:_MOST_NAMED])


def _size(size: Size, reason: str) -> Iterator[str]:
    if size.largest:
        gpus = f" ({_gpus(size.gpus)})" if size.gpus else ""
        yield f"Largest size that can start now: {size.dimension} {size.largest} of {size.asked}{gpus}"
        return
    if size.least == size.asked:
        yield f"Largest size that can start now: none; {size.because} does not permit a smaller {size.dimension} than {size.asked}."
    else:
        because = f", the least that {size.because} permits" if size.because else ""
        yield f"Largest size that can start now: none, not even with {size.dimension} set to {size.least}{because}."
    if size.reason not in ("", reason):
        yield f"  With {size.dimension} {size.least}: {size.reason}"


def _start(start: Start) -> Iterator[str]:
    if start.at is not None:
        yield f"Starts at {time_text(float(int(start.at)))} if no other work is submitted and running workloads last until their deadlines:"
        yield from (f"  {_ending(each)}" for each in start.after)
        return
    yield "Start time: unknown, because the snapshot does not show when earlier work finishes."
    if start.after:
        yield "  It would start, for example, after this work ends:"
        yield from (f"    {_ending(each)}" for each in start.after)
    else:
        yield "  No running workload was found whose completion alone would let it start."


def _ending(ending: Ending) -> str:
    at = "" if ending.at is None else f" ends at {time_text(float(int(ending.at)))}"
    return f"{ending.kind} {ending.namespace}/{ending.name} ({_gpus(ending.gpus)}, queue {ending.queue}){at}"


def _changes(changes: Iterable[Change]) -> Iterator[str]:
    below = " " * (_WIDEST + 6)
    for change in changes:
        yield f"  {_LABELS[change.kind].ljust(_WIDEST)}  {change_text(change)}"
        if change.at:
            yield f"{below}{change.at}"
        yield from (f"{below}and {clause}" for clause in change.beside)
        if change.n_evicted:
            yield f"{below}evicting {counted(change.n_evicted, 'running workload')}"


def change_text(change: Change) -> str:
    """Return a change as a clause: `limit of vision: 8 GPUs -> 16 GPUs`."""
    subject = change.subject
    if change.kind is ChangeKind.QUOTA:
        subject = f"{change.field} of {change.subject}"
    elif change.kind is ChangeKind.NODES:
        subject = f"nodes of pool {change.subject}"
    return f"{subject}: {change.before or 'unset'} -> {change.after}"


def _some(names: tuple[str, ...]) -> str:
    left = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {left} more" if left > 0 else "")


def _gpus(amount: int) -> str:
    return "1 GPU" if amount == 1000 else f"{gpu_text(amount)} GPUs"
