"""Names of objects that are emitted for ACK; `apportion_api.ack.names` has those that ACK reads."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.ack.names import ROOT
from apportion_compiler.backends.metadata import GROUP, OWNER_ANNOTATION, QUEUE_ID_LABEL
from apportion_compiler.backends.partitions import partitions_of, queue_names
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.resources import GPU

QUEUE_ID_ATTRIBUTE = QUEUE_ID_LABEL
"""The queue's id, on nodes whose name differs from it."""
OWNER_ATTRIBUTE = OWNER_ANNOTATION
"""The owner of a node's queue, if it differs from the parent's: nodes have no annotations."""
STAND_IN_ATTRIBUTE = f"{GROUP}/unlimited"
"""Comma-separated resources with an UNLIMITED guarantee, for which `min` is a substitute."""

DEFAULT_SCHEDULER = "default-scheduler"
"""ACK runs its scheduler under Kubernetes' own name."""


def node_names(program: Program) -> Mapping[str, str]:
    """Return the name of each queue's node, by the queue's id."""
    names = queue_names(program, partitions_of(program))[0]
    root = root_queue(program)
    return names if root is None else {**names, root.id: ROOT}


def root_queue(program: Program) -> Queue | None:
    """Return the queue that becomes the tree's root: the only top-level queue, if named `root` and fully guaranteed."""
    tops = [queue for queue in program.queues if queue.parent is None]
    if len(tops) != 1 or tops[0].id != ROOT or not tops[0].children:
        return None
    top = tops[0]
    managed = {r for r in (*top.guaranteed, *top.limit) if not r.startswith(f"{GPU}/")}
    return top if all(r in top.limit and top.guaranteed.get(r, 0) == top.limit[r] for r in managed) else None


def workload_queue(program: Program, queue: Queue) -> str | None:
    """Return the node's name, which a job may set in `QUOTA_LABEL`; without it, the namespace determines the node."""
    return node_names(program)[queue.id] if queue.is_leaf else None
