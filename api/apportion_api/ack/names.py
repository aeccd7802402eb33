"""Names, labels and annotations that ACK's scheduler and kube-queue read and write.

Source: seed document 002 and https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/elasticquotatree
for ElasticQuotaTree; koordinator-sh/koord-queue, the open-source successor of kube-queue, at 298e9a8c for labels and
annotations (pkg/framework/plugins/elasticquota/{consts,elastic_quota_tree}.go, pkg/queue/queuepolicies/types.go,
pkg/jobext/handles).
"""

from __future__ import annotations

TITLE = "ACK"
"""The engine in prose."""
TREE_GROUP = "scheduling.sigs.k8s.io"
TREE_API = f"{TREE_GROUP}/v1beta1"
TREE_NAME = "elasticquotatree"
TREE_NAMESPACE = "kube-system"
ROOT = "root"
"""kube-queue gives the first node this name, regardless of the tree."""

QUEUE_GROUP = "scheduling.x-k8s.io"
QUEUE_API = f"{QUEUE_GROUP}/v1alpha1"
QUEUE_NAMESPACE = "kube-queue"
FULL_NAME_ANNOTATION = "kube-queue/quota-fullname"
AVAILABLE_QUOTA_ANNOTATION = "kube-queue/available-quota"
PARENT_NAME_ANNOTATION = "kube-queue/parent-quota-fullname"
"""The name of the parent of a queue's quota: kube-queue looks up the queue of a job's quota by it and the path."""
QUEUE_NAME_ANNOTATION = "kube-queue/queue-name"
GENERATED_LABEL = "create-by-kubequeue"
QUEUE_ARGS_ANNOTATION = "kube-queue/queue-args"
"""Annotation of a Queue, as YAML: podInitialBackoffSeconds, podMaxBackoffSeconds."""
FIRST_BACKOFF, LONGEST_BACKOFF = "podInitialBackoffSeconds", "podMaxBackoffSeconds"
ENQUEUED_AT_ANNOTATION = "kube-queue/job-enqueue-timestamp"
DEQUEUED_AT_ANNOTATION = "kube-queue/job-dequeue-timestamp"

QUOTA_LABEL = "quota.scheduling.alibabacloud.com/name"
KOORDINATOR_QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"
QUOTA_LABELS = (QUOTA_LABEL, KOORDINATOR_QUOTA_LABEL)
"""Labels that name the quota of a job or a pod. The first has precedence over the second, both over the namespace."""
PREEMPTIBLE_LABEL = "quota.scheduling.alibabacloud.com/preemptible"
PREEMPTIBLE_LABELS = (PREEMPTIBLE_LABEL, "quota.scheduling.koordinator.sh/preemptible")
MAX_JOBS_KEY = "kube-queue/max-jobs"
"""A resource of a quota that limits the number of concurrently dequeued jobs."""
LEND_LIMIT_ATTRIBUTE = "alibabacloud.com/lendlimit"

SUSPEND_ANNOTATION = "scheduling.x-k8s.io/suspend"
"""`true`, exactly, suspends a job whose kind has no `spec.suspend`."""
RAY_GANG_SCHEDULER = "kube-scheduler"
"""The value of `ray.io/scheduler-name` with which ACK's KubeRay labels the pods of a RayJob as a gang."""
GANG_NAME_LABEL = "pod-group.scheduling.sigs.k8s.io/name"
GANG_MIN_LABEL = "pod-group.scheduling.sigs.k8s.io/min-available"
GANG_FAILED = "GangFailedScheduling"
