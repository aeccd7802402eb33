"""Objects of the whole cluster that a policy declares as they stand there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apportion_api.kueue.names import API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.engines.kueue.emit.queues import further
from apportion_compiler.ir.program import Program


def replaced_by_declared(kind: str, made: Iterable[Manifest], program: Program) -> Iterator[Manifest]:
    """Yield the objects of a kind: those that the policy declares, and where it declares none, those that were made."""
    declared = [held for held in program.kueue.objects if held.kind == kind]
    for held in declared:
        yield {
            "apiVersion": API,
            "kind": kind,
            "metadata": metadata(
                program, held.name, held.source, labels=further(held.labels), annotations=further(held.annotations)
            ),
            **held.fields,
        }
    if not declared:
        yield from made
