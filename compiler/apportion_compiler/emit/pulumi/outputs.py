"""Outputs of a stack: for each queue of each cluster, its name there and the fields that workloads require."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apportion_compiler.backends.partitions import partitions_of
from apportion_compiler.bindings import ENGINES
from apportion_compiler.bindings.bind import bind
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.compile import Compilation
from apportion_compiler.emit.tree import dump_documents
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.workload_shapes import found, mapping

_KIND = "Job"


def queue_outputs(compilation: Compilation) -> dict[str, dict[str, object]]:
    """Return the outputs by cluster and queue, without inner queues."""
    clusters: dict[str, dict[str, object]] = {}
    for target, program in compilation.programs.items():
        if target.backend == program.engine:
            is_divided = len(partitions_of(program)) > 1
            by_id = {queue.id: queue for queue in program.queues}
            clusters[target.cluster] = {
                queue.id: _queue(program if is_divided else _with_its_own(program, queue, by_id), queue)
                for queue in program.queues
                if queue.is_leaf
            }
    return clusters


def _with_its_own(program: Program, queue: Queue, by_id: Mapping[str, Queue]) -> Program:
    """Return a cluster reduced to one leaf and its ancestors, which determine the outputs of the leaf.

    A cluster partitioned by GPU model is returned unchanged, because names of queues depend on each other there.
    """
    path = [by_id[id_] for id_ in queue.path]
    below = {one.id: tuple(child for child in one.children if child in queue.path) for one in path}
    return replace(program, queues=tuple(replace(one, children=below[one.id]) for one in path))


def _queue(program: Program, queue: Queue) -> dict[str, object]:
    engine = ENGINES[program.engine]
    output: dict[str, object] = {
        "title": queue.title or queue.id,
        "namespaces": list(queue.namespaces),
        "priorityClasses": list(queue.priority_classes),
        "workloadQueue": engine.workload_queue(program, queue),
    }
    try:
        objects = bind(program, queue.id, _KIND, Options())
    except BindingError as refused:
        # A queue without a namespace cannot be used yet, but must not stop the stack.
        return {**output, "bind": f"# {refused}"}
    work = next(one for one in objects if one["kind"] == _KIND)
    output["labels"] = _labels(work)
    output["podLabels"] = _labels(mapping(found(work, "spec", "template")))
    output["bind"] = dump_documents([dict(one) for one in objects]).decode()
    return output


def _labels(work: Mapping[str, object]) -> dict[str, object]:
    return dict(mapping(found(dict(work), "metadata", "labels")))
