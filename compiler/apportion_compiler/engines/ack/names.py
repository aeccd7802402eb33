"""ACK's API versions, namespaces, label and annotation keys, and the names of a tree's nodes.

Source: seed document 002 and https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/elasticquotatree for
ElasticQuotaTree; koordinator-sh/koord-queue, the open successor of kube-queue, pkg/framework/plugins/elasticquota
(`consts.go`, `elastic_quota_tree.go`) at 298e9a8c for labels and annotations.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.ack.objects import ROOT
from apportion_compiler.backends.metadata import GROUP, OWNER_ANNOTATION, QUEUE_ID_LABEL
from apportion_compiler.backends.partitions import partitions_of, queue_names
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.resources import GPU

TREE_API = "scheduling.sigs.k8s.io/v1beta1"
TREE_NAME = "elasticquotatree"
TREE_NAMESPACE = "kube-system"

QUEUE_API = "scheduling.x-k8s.io/v1alpha1"
QUEUE_NAMESPACE = "kube-queue"
AVAILABLE_QUOTA_ANNOTATION = "kube-queue/available-quota"
PARENT_NAME_ANNOTATION = "kube-queue/parent-quota-fullname"
"""The own name of the parent of a queue's quota: by it and the path kube-queue finds the queue of a job's quota."""
GENERATED_LABEL = "create-by-kubequeue"
QUEUE_NAME_ANNOTATION = "kube-queue/queue-name"

QUOTA_LABEL = "quota.scheduling.alibabacloud.com/name"
KOORDINATOR_QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"
"""Both name a quota on a job; kube-queue looks for the first one first, and either goes before the namespace."""
PREEMPTIBLE_LABEL = "quota.scheduling.alibabacloud.com/preemptible"

SUSPEND_ANNOTATION = "scheduling.x-k8s.io/suspend"
"""`true` keeps a job back whose kind has no `spec.suspend`; exactly this text counts."""
RAY_GANG_LABEL = "ray.io/scheduler-name"
RAY_GANG_SCHEDULER = "kube-scheduler"
"""Makes ACK's KubeRay mark the pods of a RayJob as a gang."""
LEND_LIMIT_ATTRIBUTE = "alibabacloud.com/lendlimit"
QUEUE_ID_ATTRIBUTE = QUEUE_ID_LABEL
"""The queue's id, on nodes whose name is not it."""
OWNER_ATTRIBUTE = OWNER_ANNOTATION
"""The owner of a node's queue, where it is another than the parent's: nodes have no annotations."""
STAND_IN_ATTRIBUTE = f"{GROUP}/unlimited"
"""Resources, comma separated, of which the node is promised everything, so that its `min` stands for that."""

GPU_RESOURCE = "nvidia.com/gpu"
DEFAULT_SCHEDULER = "default-scheduler"
"""ACK runs its scheduler under Kubernetes' own name."""


def node_names(program: Program) -> Mapping[str, str]:
    """Return the name of each queue's node, by the queue's id."""
    names = queue_names(program, partitions_of(program))[0]
    root = root_queue(program)
    return names if root is None else {**names, root.id: ROOT}


def root_queue(program: Program) -> Queue | None:
    """Return the queue that is the tree's own root: the only one on top, called `root`, with all it may use promised."""
    tops = [queue for queue in program.queues if queue.parent is None]
    if len(tops) != 1 or tops[0].id != ROOT or not tops[0].children:
        return None
    top = tops[0]
    managed = {r for r in (*top.guaranteed, *top.limit) if not r.startswith(f"{GPU}/")}
    return top if all(r in top.limit and top.guaranteed.get(r, 0) == top.limit[r] for r in managed) else None


def workload_queue(program: Program, queue: Queue) -> str | None:
    """Return the node's name, which a job may give in `QUOTA_LABEL`; its namespace says the same without it."""
    return node_names(program)[queue.id] if queue.is_leaf else None
