"""v1 Pod: a single pod, or several that start together."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, pod_template, top_metadata
from apportion_compiler.workload_shapes import Node, mapping


def pod(work: Work) -> tuple[Node, ...]:
    """Return the pods, numbered if there is more than one."""
    return tuple(_pod(work, "" if work.n_workers == 1 else f"-{n}") for n in range(work.n_workers))


def _pod(work: Work, suffix: str) -> Node:
    template = pod_template(work, "main", restart="Never")
    metadata = {**top_metadata(work, suffix), **mapping(template.get("metadata"))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
