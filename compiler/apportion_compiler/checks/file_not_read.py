"""AP119: a file in the policy's folder that looks like part of the policy but was not read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_policy.omission import FILE, FOLDER

FILE_NOT_READ = Rule(
    "AP119", "file-not-read", Severity.ERROR, "a file in the policy's folder contains declarations but is not read"
)


def file_not_read(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Report the files that the evaluation did not read."""
    for omission in declarations.policy.omissions:
        if omission.kind == FOLDER:
            yield Diagnostic(
                FILE_NOT_READ,
                "policy",
                f"only part of the policy's folder was searched for declarations; the limit is {omission.name}",
                omission.source,
                hint="move the policy to its own folder",
                severity=Severity.WARNING,
            )
        elif omission.kind == FILE:
            yield Diagnostic(
                FILE_NOT_READ,
                f"file {omission.name}",
                f"{omission.name} contains declarations, but this policy does not read it",
                omission.source,
                hint="import it, remove it, or move it to a folder that the policy collects or includes and give it the "
                "same suffix as the files there",
                severity=Severity.WARNING if omission.shared else None,
            )
