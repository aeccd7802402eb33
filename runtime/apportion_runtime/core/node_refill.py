"""Replacing the pods on a node between cycles: only pods that differ are charged again.

Sums of whole numbers are exact in any order. Nodes with other amounts, MIG instances or claims are charged anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from apportion_runtime.core.node_entry import Entry, is_plainly_charged
from apportion_runtime.core.nodes import NodeTable
from apportion_runtime.core.resources import GPU
from apportion_runtime.core.status import ACTIVE_USED_STATUSES, RELEASING
from apportion_runtime.core.task import REGULAR, Task


def refill(table: NodeTable, i: int, tasks: Sequence[Task]) -> None:
    """Replace the pods on a node."""
    table.changed.append(i)
    is_special = i in table.legacy_mig or i in table.device_uses
    if table.is_whole and not is_special and all(map(is_plainly_charged, tasks)):
        _exchange(table, i, tasks)
        _note_refill(table, i, is_plain=True)
        return
    table.idle[i], table.releasing[i], table.used[i] = table.allocatable[i], table.released[i], 0.0
    table.entries[i] = {}
    table.shared.pop(i, None)
    table.settled.discard(i)
    table.legacy_mig.discard(i)
    table.device_uses.pop(i, None)
    for task in tasks:
        table.add(task, i)
    _note_refill(table, i, is_plain=False)


def _note_refill(table: NodeTable, i: int, *, is_plain: bool) -> None:
    table.placed.pop(i, None)
    table.disturbed.discard(i)
    if is_plain:
        table.plainly_filled.add(i)
    else:
        table.plainly_filled.discard(i)


def refill_some(table: NodeTable, i: int, uids: Iterable[str], tasks: Mapping[str, Task]) -> bool:
    """Replace some of the pods on a node, if this is the same as replacing all of them; return whether it is.

    Args:
        table: The nodes.
        i: The node.
        uids: The pods that differ from the last refill, except those that were placed since.
        tasks: Those of them that are on the node.
    """
    if i in table.disturbed or i not in table.plainly_filled or not table.is_whole:
        return False
    if not all(map(is_plainly_charged, tasks.values())):
        return False
    entries = table.entries[i]
    is_settled, has_changed, n_before = i in table.settled, False, len(entries)
    for uid in uids:
        before, task = entries.get(uid), tasks.get(uid)
        if task is None:
            if before is not None:
                del entries[uid]
                table.book(i, before.status, -before.charged)
                has_changed, n_before = True, n_before - 1
                is_settled = is_settled and not before.shares
            continue
        if task.kind != REGULAR and task.status & ACTIVE_USED_STATUSES:
            table.accept(task, i)
        if before is not None and before.is_of(task):
            if before.status != task.status:
                entries[uid] = before.in_state(task)
                is_settled = is_settled and not before.shares
            continue
        if before is not None:
            table.book(i, before.status, -before.charged)
            is_settled = is_settled and not before.shares
        entry = entries[uid] = _plain_entry(table, task, i)
        table.book(i, entry.status, entry.charged)
        has_changed = True
        is_settled = is_settled and not entry.shares
    if i in table.placed or len(entries) != n_before:
        in_order = sorted(entries)
        if in_order != list(entries):
            table.entries[i] = entries = {uid: entries[uid] for uid in in_order}
    if not is_settled:
        fractions = [entry for entry in entries.values() if entry.shares]
        if fractions or i in table.shared:
            _share_anew(table, i, fractions, entries.values())
            has_changed = True
    if has_changed:
        table.changed.append(i)
    table.placed.pop(i, None)
    return True


def _exchange(table: NodeTable, i: int, tasks: Sequence[Task]) -> None:
    """Replace pods whose requests are whole, except for fractions of devices.

    The sums are exact in any order, so that only pods that differ are charged.
    """
    before, entries = table.entries[i], dict[str, Entry]()
    fractions: list[Entry] = []
    is_settled = i in table.settled
    for task in tasks:
        if task.kind != REGULAR and task.status & ACTIVE_USED_STATUSES:
            table.accept(task, i)
        entry = before.pop(task.uid, None)
        if entry is None or not entry.is_of(task):
            if entry is not None:
                table.book(i, entry.status, -entry.charged)
                is_settled = is_settled and not entry.shares
            entry = _plain_entry(table, task, i)
            table.book(i, entry.status, entry.charged)
            is_settled = is_settled and not entry.shares
        elif entry.status != task.status:
            entry = entry.in_state(task)
            is_settled = is_settled and not entry.shares
        entries[task.uid] = entry
        if entry.shares:
            fractions.append(entry)
    for entry in before.values():
        table.book(i, entry.status, -entry.charged)
        is_settled = is_settled and not entry.shares
    table.entries[i] = entries
    if not is_settled and (fractions or i in table.shared):
        _share_devices(table, i, fractions)


def _plain_entry(table: NodeTable, task: Task, i: int) -> Entry:
    """Return the entry of a pod that holds no claims."""
    charged = task.accepted * table.tracked[i]
    if not task.received_fraction:
        return Entry(task.status, charged, (), 0, shares=False, numa=task.numa, accepted=task.accepted)
    charged[GPU] = 0.0
    memory = table.memory_of(task.gpu, i)
    return Entry(task.status, charged, task.gpu_groups, memory, shares=True, numa=task.numa, accepted=task.accepted)


def _share_devices(table: NodeTable, i: int, fractions: Iterable[Entry]) -> None:
    """Charge a node with shared devices anew: a pod that moved between its devices may have been charged twice.

    Charging whole devices does not change what shared devices compare, the sum of idle and used devices, so the
    pods with fractions can follow together.
    """
    used, entries = table.used[i], table.entries[i].values()
    used[:] = 0.0
    for entry in entries:
        used += entry.charged
    _share_anew(table, i, fractions, entries)


def _share_anew(table: NodeTable, i: int, fractions: Iterable[Entry], entries: Iterable[Entry]) -> None:
    """Charge the shared devices of a node anew, given that its used amounts are right."""
    idle, releasing, used = row = table.row(i)
    releasing[:] = table.released[i]
    for entry in entries:
        if entry.status == RELEASING:
            releasing += entry.charged
    np.subtract(table.allocatable[i], used, out=idle)
    table.shared.pop(i, None)
    table.settled.add(i)
    for entry in fractions:
        shared = table.shared_on(i)
        for group in entry.groups:
            shared.add(group, entry.memory, entry.status, row)
