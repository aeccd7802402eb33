"""Names that Kueue reads and writes (apis/kueue/v1beta2, pkg/controller/constants)."""

from __future__ import annotations

from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

API = "kueue.x-k8s.io/v1beta2"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
PARAMETERS = "provreq.kueue.x-k8s.io/"
"""Annotations of a workload that become parameters of its ProvisioningRequest begin so."""
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
COMPLETIONS_EQUAL = "kueue.x-k8s.io/job-completions-equal-parallelism"
MAX_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
ELASTIC = "kueue.x-k8s.io/elastic-job"
TOPOLOGY = "kueue.x-k8s.io/podset-"
"""Annotations of templates that ask for nodes near each other begin so."""
MANAGED = {"kueue.x-k8s.io/managed": "true"}
GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of a pod that waits for quota."""
GROUP_NAME = "kueue.x-k8s.io/pod-group-name"
GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
SUSPENDING_PARENT = "kueue.x-k8s.io/pod-suspending-parent"
"""The annotation by which the template of a Deployment has its pods held back."""
DEFAULT_LOCAL_QUEUE = "default"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
WORKLOAD, CONFIGURATION = "Workload", "Configuration"
CONFIGURATION_GROUP = "config.kueue.x-k8s.io"

WORKLOAD_LABELS = WorkloadLabels(queue_labels=by(QUEUE_NAME), priority_labels=by(PRIORITY_CLASS))
