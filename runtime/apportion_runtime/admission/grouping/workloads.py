"""Kinds that differ from the default in a line or two: Deployments, Jobs, CronJobs, bare pods.

Source: pkg/podgrouper/podgrouper/plugins/{deployment,job,cronjobs,podjob,spark} at d5bc503a.
"""

from __future__ import annotations

from dataclasses import replace

from apportion_api.kai.names import DEPLOYMENT_CLASS, MIN_MEMBER_ANNOTATION
from apportion_api.kubernetes.operators import SPARK_APP_ID_LABEL, SPARK_NAME_LABEL
from apportion_runtime.admission.grouping.default import Owners, group_by_default, group_name, priority_class
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    labels_of,
    namespace_of,
    nested,
    number_in,
)


def group_deployment(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return a pod group for each replica, of class inference unless another is named on the Deployment or the pod."""
    made = group_by_default(owner, pod, owners, objects)
    named = priority_class((owner,), pod, objects, DEPLOYMENT_CLASS)
    return replace(made, owner=pod, name=group_name(pod), priority_class=named)


def group_job(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for the Job; its pods start one by one unless an annotation asks for more at once."""
    made = group_by_default(owner, pod, owners, objects)
    said = annotations_of(owner).get(MIN_MEMBER_ANNOTATION)
    return made if said is None else replace(made, min_members=number_in(said, "min-member annotation value"))


def group_cron_job(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for each Job of the CronJob, by the labels of the Job."""
    del owner, owners
    for reference in nested(pod, "metadata", "ownerReferences") or ():
        if reference.get("kind") == "Job":
            job = objects.get("Job", namespace_of(pod), reference.get("name") or "")
            if job is None:
                raise GroupingError(f'jobs.batch "{reference.get("name")}" not found')
            return group_by_default(job, pod, (), objects)
    raise GroupingError("no owner reference of type 'Job'")


def group_pod(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return a pod group for a pod without an owner; the pods of a Spark application share one."""
    made = group_by_default(owner, pod, owners, objects)
    said = labels_of(pod)
    if SPARK_NAME_LABEL in said and SPARK_APP_ID_LABEL in said:
        return replace(made, name=said[SPARK_APP_ID_LABEL])
    return made
