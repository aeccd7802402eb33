"""Names, labels and annotations that ACK's scheduler and kube-queue read and write.

Source: seed document 002; koordinator-sh/koord-queue at 298e9a8c (pkg/framework/plugins/elasticquota/consts.go,
pkg/queue/queuepolicies/types.go, pkg/jobext/handles).
"""

TREE_NAMESPACE = "kube-system"
QUEUE_NAMESPACE = "kube-queue"

QUEUE_API = "scheduling.x-k8s.io/v1alpha1"
PARENT_NAME = "kube-queue/parent-quota-fullname"
GENERATED = "create-by-kubequeue"
QUEUE_ARGS = "kube-queue/queue-args"
"""YAML of a Queue: podInitialBackoffSeconds, podMaxBackoffSeconds."""
FIRST_BACKOFF, LONGEST_BACKOFF = "podInitialBackoffSeconds", "podMaxBackoffSeconds"

ENQUEUED_AT = "kube-queue/job-enqueue-timestamp"
DEQUEUED_AT = "kube-queue/job-dequeue-timestamp"

QUOTA_LABELS = ("quota.scheduling.alibabacloud.com/name", "quota.scheduling.koordinator.sh/name")
"""Either names a quota on a job or a pod, the first before the second, and both before the namespace."""
PREEMPTIBLE_LABELS = ("quota.scheduling.alibabacloud.com/preemptible", "quota.scheduling.koordinator.sh/preemptible")
MAX_JOBS = "kube-queue/max-jobs"
"""Stands among the resources of a quota for how many jobs may have left its queue at a time."""
LEND_LIMIT = "alibabacloud.com/lendlimit"

SUSPEND = "scheduling.x-k8s.io/suspend"
RAY_GANG = ("ray.io/scheduler-name", "kube-scheduler")
"""Makes ACK's KubeRay mark the pods of a RayJob as a gang."""
GANG_NAME = "pod-group.scheduling.sigs.k8s.io/name"
GANG_MIN = "pod-group.scheduling.sigs.k8s.io/min-available"
GANG_FAILED = "GangFailedScheduling"
