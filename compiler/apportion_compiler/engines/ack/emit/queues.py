"""Queue (scheduling.x-k8s.io/v1alpha1) of kube-queue, for each leaf with a queue policy, its own or its cluster's.

kube-queue creates a queue for every node of the tree that no Queue names in `kube-queue/quota-fullname` (koord-queue
elastic_quota_tree.go, syncQueues), and does not change queues without its mark. So the Queues precede the tree in apply
order, and jobs of the quota use them without naming them.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.ack.names import (
    AVAILABLE_QUOTA_ANNOTATION,
    FULL_NAME_ANNOTATION,
    GENERATED_LABEL,
    PARENT_NAME_ANNOTATION,
    QUEUE_API,
    QUEUE_NAMESPACE,
    ROOT,
)
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.engines.ack.names import node_names
from apportion_compiler.ir.program import Program, Queue


def policy_of(program: Program, queue: Queue) -> str | None:
    """Return a queue's policy: its own, else the cluster's; None is kube-queue's default."""
    return queue.queue_policy or program.ack.queue_policy


def queues(program: Program) -> Iterator[Manifest]:
    """Yield a Queue for each leaf with a queue policy."""
    names = node_names(program)
    for queue in program.queues:
        policy = policy_of(program, queue)
        if not queue.is_leaf or policy is None:
            continue
        path = [names[id_] for id_ in queue.path]
        spec: dict[str, object] = {"queuePolicy": policy}
        if queue.priority is not None:
            spec["priority"] = queue.priority
        yield {
            "apiVersion": QUEUE_API,
            "kind": "Queue",
            "metadata": metadata(
                program,
                names[queue.id],
                queue.source,
                namespace=QUEUE_NAMESPACE,
                queue=queue,
                labels={GENERATED_LABEL: "false"},
                annotations={
                    AVAILABLE_QUOTA_ANNOTATION: names[queue.id],
                    FULL_NAME_ANNOTATION: "/".join(path if path[0] == ROOT else [ROOT, *path]),
                    PARENT_NAME_ANNOTATION: path[-2] if len(path) > 1 else ROOT,
                },
            ),
            "spec": spec,
        }
