"""Names, labels and annotations that ACK's scheduler and kube-queue read and write.

Source: seed document 002 and https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/elasticquotatree for
ElasticQuotaTree; koordinator-sh/koord-queue, the open successor of kube-queue, at 298e9a8c for labels and annotations
(pkg/framework/plugins/elasticquota/{consts,elastic_quota_tree}.go, pkg/queue/queuepolicies/types.go, pkg/jobext/handles).
"""

from __future__ import annotations

TREE_GROUP = "scheduling.sigs.k8s.io"
TREE_API = f"{TREE_GROUP}/v1beta1"
TREE_NAME = "elasticquotatree"
TREE_NAMESPACE = "kube-system"
ROOT = "root"
"""kube-queue names the first node so, whatever the tree says."""

QUEUE_GROUP = "scheduling.x-k8s.io"
QUEUE_API = f"{QUEUE_GROUP}/v1alpha1"
QUEUE_NAMESPACE = "kube-queue"
FULL_NAME_ANNOTATION = "kube-queue/quota-fullname"
AVAILABLE_QUOTA_ANNOTATION = "kube-queue/available-quota"
PARENT_NAME_ANNOTATION = "kube-queue/parent-quota-fullname"
"""The own name of the parent of a queue's quota: by it and the path kube-queue finds the queue of a job's quota."""
QUEUE_NAME_ANNOTATION = "kube-queue/queue-name"
GENERATED_LABEL = "create-by-kubequeue"
QUEUE_ARGS_ANNOTATION = "kube-queue/queue-args"
"""YAML of a Queue: podInitialBackoffSeconds, podMaxBackoffSeconds."""
FIRST_BACKOFF, LONGEST_BACKOFF = "podInitialBackoffSeconds", "podMaxBackoffSeconds"
ENQUEUED_AT_ANNOTATION = "kube-queue/job-enqueue-timestamp"
DEQUEUED_AT_ANNOTATION = "kube-queue/job-dequeue-timestamp"

QUOTA_LABEL = "quota.scheduling.alibabacloud.com/name"
KOORDINATOR_QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"
QUOTA_LABELS = (QUOTA_LABEL, KOORDINATOR_QUOTA_LABEL)
"""Either names a quota on a job or a pod, the first before the second, and both before the namespace."""
PREEMPTIBLE_LABEL = "quota.scheduling.alibabacloud.com/preemptible"
PREEMPTIBLE_LABELS = (PREEMPTIBLE_LABEL, "quota.scheduling.koordinator.sh/preemptible")
MAX_JOBS_KEY = "kube-queue/max-jobs"
"""Stands among the resources of a quota for how many jobs may have left its queue at a time."""
LEND_LIMIT_ATTRIBUTE = "alibabacloud.com/lendlimit"

SUSPEND_ANNOTATION = "scheduling.x-k8s.io/suspend"
"""`true` keeps a job back whose kind has no `spec.suspend`; exactly this text counts."""
RAY_GANG_SCHEDULER = "kube-scheduler"
"""The value of `ray.io/scheduler-name` that makes ACK's KubeRay mark the pods of a RayJob as a gang."""
GANG_NAME_LABEL = "pod-group.scheduling.sigs.k8s.io/name"
GANG_MIN_LABEL = "pod-group.scheduling.sigs.k8s.io/min-available"
GANG_FAILED = "GangFailedScheduling"
