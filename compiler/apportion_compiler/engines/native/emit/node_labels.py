"""The labels and taints of machines that nobody makes for the policy: whoever runs them sets these by hand.

Engines' objects select nodes by them, so a node without its labels is one that no queue's work reaches.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.ir.program import Program
from apportion_policy.evaluation.sanitized_text import comment_lines
from apportion_policy.providers import Fixed

FILE = "node-labels.yaml"


def node_label_list(program: Program) -> Iterator[Artifact]:
    """Yield the list, where the cluster has such machines."""
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
        header = comment_lines(
            (
                "What the nodes of each pool must carry that is not made from this policy (kubectl label, kubectl taint).",
                GENERATED,
            )
        )
        yield Artifact(FILE, header + yaml.safe_dump(pools, sort_keys=False, width=120))
