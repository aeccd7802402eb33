"""Cluster-wide objects that a policy declares in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apportion_api.kueue.names import API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.engines.kueue.emit.queues import further
from apportion_compiler.ir.program import Program


def replaced_by_declared(kind: str, made: Iterable[Manifest], program: Program) -> Iterator[Manifest]:
    """Yield the objects of a kind: the declared ones if there are any, else the generated ones."""
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
