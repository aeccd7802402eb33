"""Kinds whose grouping differs slightly from the default.

Source: pkg/podgrouper/podgrouper/plugins/{deployment,job,cronjobs,podjob,spark,runaijob,aml,spotrequest} and
kubeflow/notebook at d5bc503a.
"""

from __future__ import annotations

from dataclasses import replace

from apportion_api.kai.names import BUILD_CLASS, DEPLOYMENT_CLASS, MIN_MEMBER_ANNOTATION, POD_GROUP_PREFIX
from apportion_api.kubernetes.operators import AML_NODE_COUNT, SPARK_APP_ID_LABEL, SPARK_NAME_LABEL
from apportion_runtime.admission.grouping.default import Owners, group_by_default, group_name, priority_class
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    number_in,
    uid_of,
    whole,
)


def group_deployment(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return a pod group for each replica, of class inference unless another is named on the Deployment or the pod."""
    made = _of_class(DEPLOYMENT_CLASS, owner, pod, objects)
    return replace(made, owner=pod, name=group_name(pod))


def group_job(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for the Job; its pods start one by one unless an annotation requests more at once."""
    made = group_by_default(owner, pod, (), objects)
    before = group_of_job_pod(owner, pod)
    if before != made.name and objects.get("PodGroup", namespace_of(pod), before) is not None:
        return replace(made, name=before)
    declared = annotations_of(owner).get(MIN_MEMBER_ANNOTATION)
    return (
        made
        if declared is None
        else replace(made, min_members=number_in(declared, "min-member annotation value", bits=32))
    )


def group_of_job_pod(owner: Manifest, pod: Manifest) -> str:
    """Return the pod group that earlier versions of the engine created for a pod of a Job; its pods stay in it."""
    return f"{POD_GROUP_PREFIX}-{name_of(pod)}-{uid_of(owner)}"


def group_cron_job(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for each Job of the CronJob, by the labels of the Job."""
    for reference in nested(pod, "metadata", "ownerReferences") or ():
        if reference.get("kind") == "Job":
            job = objects.read("batch/v1", "Job", namespace_of(pod), reference.get("name") or "")
            if job is None:
                raise GroupingError(f'jobs.batch "{reference.get("name")}" not found')
            return group_by_default(job, pod, (), objects)
    raise GroupingError("no owner reference of type 'Job'")


def group_pod(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return a pod group for a pod without an owner; the pods of a Spark application share one."""
    made = group_by_default(owner, pod, (), objects)
    declared = labels_of(pod)
    if SPARK_NAME_LABEL in declared and SPARK_APP_ID_LABEL in declared:
        return replace(made, name=declared[SPARK_APP_ID_LABEL])
    return made


def group_notebook(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group, of class build unless another is named."""
    return _of_class(BUILD_CLASS, owner, pod, objects)


def group_spot_request(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group, of class inference unless another is named."""
    return _of_class(DEPLOYMENT_CLASS, owner, pod, objects)


def group_runai_job(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return a pod group for the pods whose names differ after the last dash only."""
    made = group_by_default(owner, pod, (), objects)
    # Earlier versions of the engine named it after the pod if several run concurrently, and after the job otherwise.
    is_parallel = (whole(owner, "spec", "parallelism") or 0) > 1
    before = f"{POD_GROUP_PREFIX}-{name_of(pod if is_parallel else owner)}-{uid_of(owner)}"
    if objects.get("PodGroup", namespace_of(pod), before) is not None:
        return replace(made, name=before)
    stem = name_of(pod).rpartition("-")[0] if "-" in name_of(pod) else name_of(pod)
    return replace(made, name=f"{POD_GROUP_PREFIX}-{stem}-{uid_of(owner)}")


def group_aml_job(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group with a minimum of all nodes of the job."""
    made = group_by_default(owner, pod, (), objects)
    count = whole(owner, "spec", "job", "options", "envs", AML_NODE_COUNT)
    if count is None:
        raise GroupingError("azureml envs count not found in spec")
    return replace(made, min_members=count)


def _of_class(default: str, owner: Manifest, pod: Manifest, objects: Objects) -> Grouping:
    made = group_by_default(owner, pod, (), objects)
    return replace(made, priority_class=priority_class((owner,), pod, objects, default))
