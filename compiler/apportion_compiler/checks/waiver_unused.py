"""AP114: a waiver does not suppress any finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from apportion_compiler.checks.suggestions import suggester
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_policy.policy import Waiver

WAIVER_UNUSED = Rule("AP114", "waiver-unused", Severity.WARNING, "a waiver does not suppress any finding")


def waiver_unused(declarations: Declarations, as_of: date, evaluated: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Compare the waivers in force with the findings that they suppressed."""
    used = {(d.code, d.address) for d in evaluated if d.suppression is not None}
    in_force = [w for w in declarations.policy.waivers if as_of <= w.expires]
    unused = [w for w in in_force if w.code != WAIVER_UNUSED.code and (w.code, w.address) not in used]
    # A waiver of this rule may be used by the findings just reported.
    waived = {_address(waiver) for waiver in unused}
    unused += [w for w in in_force if w.code == WAIVER_UNUSED.code and w.address not in waived]
    if unused:
        known = {named.address for named in declarations.named}
        suggest = suggester(known)
        yield from (_finding(w, evaluated, None if w.address in known else suggest(w.address)) for w in unused)


def _finding(waiver: Waiver, evaluated: Sequence[Diagnostic], meant: str | None) -> Diagnostic:
    message = f"the waiver of {waiver.code} for {waiver.address} does not suppress any finding"
    elsewhere = sorted({d.address for d in evaluated if d.code == waiver.code and d.address != waiver.address})
    hint = (
        f"remove the waiver, or change its address to {elsewhere[0]}, for which {waiver.code} is reported"
        if elsewhere
        else "remove the waiver"
    )
    if meant is not None:
        hint = f"{waiver.address} does not exist: change it to {meant}, or remove the waiver"
    return Diagnostic(WAIVER_UNUSED, _address(waiver), message, waiver.source, hint=hint)


def _address(waiver: Waiver) -> str:
    return f"waiver {waiver.code} {waiver.address}"
