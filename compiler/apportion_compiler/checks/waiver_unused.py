"""AP114: a waiver that suppresses no finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_policy.policy import Policy, Waiver

WAIVER_UNUSED = Rule("AP114", "waiver-unused", Severity.WARNING, "a waiver that suppresses no finding")

_EMISSION = "AP5"
"""These findings are made for a target, after the check of the policy: whether a waiver of one is used is not known."""


def waiver_unused(policy: Policy, as_of: date, judged: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Compare the waivers in force with the findings that they suppressed."""
    used = {(d.code, d.address) for d in judged if d.suppression is not None}
    in_force = [w for w in policy.waivers if as_of <= w.expires and not w.code.startswith(_EMISSION)]
    unused = [_finding(w, judged) for w in in_force if w.code != WAIVER_UNUSED.code and (w.code, w.address) not in used]
    yield from unused
    # A waiver of this very rule is used by what has just been found.
    waived = {d.address for d in unused}
    yield from (_finding(w, judged) for w in in_force if w.code == WAIVER_UNUSED.code and w.address not in waived)


def _finding(waiver: Waiver, judged: Sequence[Diagnostic]) -> Diagnostic:
    address = f"waiver {waiver.code} {waiver.address}"
    message = f"the waiver of {waiver.code} for {waiver.address} suppresses nothing"
    if any(d.code == waiver.code and d.address == waiver.address and d.rule.required for d in judged):
        message = f"{waiver.code} cannot be waived: nothing can be compiled past it"
    elsewhere = sorted({d.address for d in judged if d.code == waiver.code and d.address != waiver.address})
    hint = f"remove it; {waiver.code} finds {elsewhere[0]}" if elsewhere else "remove it"
    return Diagnostic(WAIVER_UNUSED, address, message, waiver.source, hint=hint)
