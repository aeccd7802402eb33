"""AP8xx: snapshots of clusters. The runtime finds what is wrong with them; the rules are named here."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.diagnostics.diagnostic import Rule, Severity

_E, _W = Severity.ERROR, Severity.WARNING
_KINDS: tuple[tuple[str, Severity, str], ...] = (
    ("unreadable-snapshot", _E, "a snapshot, or an object in it, that cannot be read"),
    ("unreadable-quantity", _E, "an amount, a time or a duration that is none"),
    ("negative-amount", _E, "a request, or what a node has, below zero"),
    ("duplicate-object", _E, "an object that is there more than once"),
    ("queue-parents-cycle", _E, "queues whose parents lead back to them"),
    ("unknown-queue", _W, "a queue that is not there, or that takes no jobs"),
    ("pod-on-unknown-node", _W, "a pod on a node that is not there"),
    ("unknown-pod-group", _W, "a pod of a pod group that is not there"),
    ("unknown-sub-group", _W, "a sub-group that the pod group does not have"),
    ("node-overcommitted", _W, "a node whose pods hold more than it has"),
    ("gpu-devices-overlap", _W, "a GPU of which pods or claims hold more than there is"),
    ("unknown-priority-class", _W, "a priority class that is not there"),
    ("ignored-value", _W, "a value that the engine passes over"),
    ("unknown-device-selector", _W, "a selector of devices that is not understood"),
)

SNAPSHOTS: Mapping[str, Rule] = {
    kind: Rule(f"AP8{number:02d}", kind, severity, summary, required=severity is _E)
    for number, (kind, severity, summary) in enumerate(_KINDS, start=1)
}
"""The rule of each kind of fault; codes are permanent, so kinds are only ever appended."""
