"""Labels and annotations that workload operators set on pods, or read.

Source: KubeRay 1.5 (ray-operator/controllers/ray/utils/constant.go), the APIs of JobSet, LeaderWorkerSet, the
training operator, Knative, Grove and Azure ML, Spark's own labels.
"""

from __future__ import annotations

RAY_PRIORITY_CLASS_LABEL = "ray.io/priority-class-name"
RAY_GROUP_LABEL = "ray.io/group"
RAY_NODE_TYPE_LABEL = "ray.io/node-type"
RAY_SCHEDULER_LABEL = "ray.io/scheduler-name"
RAY_HEAD_GROUP = "headgroup"
SPARK_NAME_LABEL, SPARK_APP_ID_LABEL = "spark-app-name", "spark-app-selector"
JOB_ROLE_LABEL = "training.kubeflow.org/job-role"
JOB_NAME_LABEL = "training.kubeflow.org/job-name"
REPLICA_TYPE_LABEL = "training.kubeflow.org/replica-type"
REPLICA_INDEX_LABEL = "training.kubeflow.org/replica-index"
JOBSET_JOB_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"
JOBSET_INDEX_LABEL = "jobset.sigs.k8s.io/job-index"
LWS_SIZE_ANNOTATION = "leaderworkerset.sigs.k8s.io/size"
LWS_GROUP_LABEL = "leaderworkerset.sigs.k8s.io/group-index"
KNATIVE_API = "serving.knative.dev/v1"
KNATIVE_REVISION_LABEL = "serving.knative.dev/revision"
KNATIVE_MIN_SCALE_ANNOTATION = "autoscaling.knative.dev/min-scale"
GROVE_GANG_API = "scheduler.grove.io/v1alpha1"
GROVE_GANG_LABEL = "grove.io/podgang"
GROVE_TOPOLOGY_ANNOTATION = "grove.io/topology-name"
AML_NODE_COUNT = "AZUREML_NODE_COUNT"
LWS_WORKER_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"
