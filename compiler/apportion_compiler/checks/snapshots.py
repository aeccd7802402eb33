"""AP8xx: snapshots of clusters. The runtime reports their faults; the rules are registered here."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.diagnostics.diagnostic import Rule, Severity

_E, _W = Severity.ERROR, Severity.WARNING
_KINDS: tuple[tuple[str, Severity, str], ...] = (
    ("unreadable-snapshot", _E, "a snapshot or an object in it cannot be read"),
    ("invalid-quantity", _E, "an amount, a time or a duration is invalid"),
    ("negative-amount", _E, "a request or a node's capacity is negative"),
    ("duplicate-object", _E, "an object is listed more than once"),
    ("queue-parent-cycle", _E, "the parents of queues form a cycle"),
    ("unknown-queue", _W, "a queue does not exist, or is not a leaf"),
    ("pod-on-unknown-node", _W, "a pod is bound to a node that does not exist"),
    ("unknown-pod-group", _W, "a pod belongs to a pod group that does not exist"),
    ("unknown-sub-group", _W, "a pod references a sub-group that its pod group does not have"),
    ("node-overcommitted", _W, "the pods on a node use more than its capacity"),
    ("gpu-devices-overlap", _W, "pods or claims use more than a GPU's capacity"),
    ("unknown-priority-class", _W, "a priority class does not exist"),
    ("ignored-value", _W, "the engine ignores a value"),
    ("unknown-device-selector", _W, "a device selector cannot be evaluated"),
)

SNAPSHOTS: Mapping[str, Rule] = {
    kind: Rule(f"AP8{number:02d}", kind, severity, summary, required=severity is _E)
    for number, (kind, severity, summary) in enumerate(_KINDS, start=1)
}
"""The rule of each kind of fault; codes are permanent, so append new kinds at the end."""
