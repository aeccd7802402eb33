"""apps/v1 Deployment: independent serving replicas."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, pod_template, top_metadata
from apportion_compiler.workload_shapes import Node, section

_SELECTOR = "app.kubernetes.io/name"


def deployment(work: Work) -> tuple[Node, ...]:
    """Return the Deployment."""
    template = pod_template(work, "server")
    section(template, "metadata", "labels")[_SELECTOR] = work.name
    return (
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": top_metadata(work),
            "spec": {
                "replicas": work.n_workers,
                "selector": {"matchLabels": {_SELECTOR: work.name}},
                "template": {"metadata": template["metadata"], "spec": template["spec"]},
            },
        },
    )
