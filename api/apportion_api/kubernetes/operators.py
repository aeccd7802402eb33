"""Labels and annotations that the operators of workloads write on pods, or read.

Source: KubeRay 1.5 (ray-operator/controllers/ray/utils/constant.go), the APIs of JobSet, LeaderWorkerSet and the
training operator, Spark's own labels.
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
LWS_WORKER_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"
