"""A workload that already exists in the snapshot: it is pending there, or one with its name is running."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apportion_compiler.plain_objects import mapping, name_of, text
from apportion_review.fit.clusters import ObservedCluster

if TYPE_CHECKING:
    from apportion_review.fit.fit import Question


def submitted_before(
    question: Question, observed: ObservedCluster
) -> tuple[Question, ObservedCluster, tuple[str, ...]]:
    """Return the question and the cluster such that the workload exists once, and a note.

    A pending workload is removed from the snapshot. A running one stays, and the submitted one gets another name.
    """
    made = question.manifest
    kind, namespace, name = str(made.get("kind")), text(made, "metadata", "namespace") or "default", name_of(made)
    same = [
        each
        for each in observed.workloads()
        if (each.owner.kind, each.owner.namespace, each.owner.name) == (kind, namespace, name)
    ]
    if not same:
        return question, observed, ()
    if not any(each.runs for each in same):
        note = f"{kind} {namespace}/{name} is already pending in the snapshot: it is evaluated as if submitted again, after all other pending work."
        return question, replace(observed, replaced=(kind, namespace, name)), (note,)
    another = {**made, "metadata": {**mapping(made, "metadata"), "name": f"{name}-another"}}
    note = (
        f"{kind} {namespace}/{name} is already running in the snapshot: the result is for a second, identical workload."
    )
    return replace(question, manifest=another), observed, (note,)
