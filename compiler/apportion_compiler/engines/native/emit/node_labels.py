"""Labels and taints of existing machines, which their operators must set.

Engines select nodes by these labels, so workloads never run on a node without them.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.backends.yaml_documents import yaml_document
from apportion_compiler.ir.program import Program
from apportion_policy.providers import Fixed

FILE = "node-labels.yaml"


def node_label_list(program: Program) -> Iterator[Artifact]:
    """Yield the list, if the cluster has such machines."""
    pools = {
        pool.id: {
            "labels": dict(node_labels(program, pool)),
            **(
                {"taints": [f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in pool.taints]}
                if pool.taints
                else {}
            ),
        }
        for pool in program.pools
        if isinstance(pool.settings, Fixed)
    }
    if pools:
        notes = (
            "Labels and taints required on the nodes of each pool.",
            "The policy does not set them: use kubectl label and kubectl taint.",
        )
        yield Artifact(FILE, yaml_document(notes, pools))
