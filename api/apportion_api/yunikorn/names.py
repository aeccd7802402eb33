"""YuniKorn's labels and annotations, its ConfigMap and the names of resources, at core be3bb487 and k8shim 23b6b47f.

Source: k8shim pkg/common/constants/constants.go and pkg/admission/conf/am_conf.go; scheduler-interface lib/go/common.
"""

from __future__ import annotations

TITLE = "YuniKorn"
"""The engine in prose."""
DOMAIN = "yunikorn.apache.org"
PARENT_QUEUE_ANNOTATION = f"{DOMAIN}/parentqueue"
"""On a namespace: the path of its queue, for the placement rule `tag` with the value `namespace.parentqueue`."""
ENABLED_ANNOTATION = f"{DOMAIN}/namespace.enableYuniKorn"
"""On a namespace: assigns its pods to YuniKorn."""
QUEUE_LABEL = f"{DOMAIN}/queue"
"""On a pod: the path of its queue. YuniKorn reads this label, then the annotation with the same key."""
QUEUE_ANNOTATION = QUEUE_LABEL
"""The same as an annotation, for paths that exceed the length of a label value."""
OLD_QUEUE_LABEL = "queue"
"""The third source of the queue in YuniKorn; KubeRay sets it."""
APP_ID_LABEL = f"{DOMAIN}/app-id"
"""On a pod: its application, as label or annotation. Pods of an application share a queue."""
OLD_APP_ID_LABEL = "applicationId"
TASK_GROUP_NAME_ANNOTATION = f"{DOMAIN}/task-group-name"
TASK_GROUPS_ANNOTATION = f"{DOMAIN}/task-groups"
"""On a pod: JSON list of groups with name, minMember and minResource; only that of the first pod is used."""
SCHEDULING_PARAMETERS_ANNOTATION = f"{DOMAIN}/schedulingPolicyParameters"
"""On a pod: the timeout of placeholders and the style of the gang, read from the first pod."""
USER_INFO_ANNOTATION = f"{DOMAIN}/user.info"
"""On a pod: JSON with its user and groups, which YuniKorn's admission controller records."""
ALLOW_PREEMPTION_ANNOTATION = f"{DOMAIN}/allow-preemption"
"""On a PriorityClass, or on a pod: `false` if it should be evicted last."""

SCHEDULER = "yunikorn"
SYSTEM_NAMESPACE = "yunikorn"
CONFIG_MAP = "yunikorn-configs"
DEFAULTS_CONFIG_MAP = "yunikorn-defaults"
QUEUES_KEY = "queues.yaml"
COMPRESSED_QUEUES_KEY = "queues.yaml.gz"
PROCESS_NAMESPACES_KEY = "admissionController.filtering.processNamespaces"
PARTITION = "default"
ROOT_QUEUE = "root"

VCORE = "vcore"
MEMORY_RESOURCE = "memory"
PODS_RESOURCE = "pods"
