"""Pods that a controller of a snapshot requires and lacks, such as those that a quota rejected.

Read from Jobs, ReplicaSets and StatefulSets, whose pods are equivalent; the pods of other controllers are not counted.

Source: Kubernetes v1.36.3, pkg/controller/job/job_controller.go (manageJob), pkg/controller/replicaset/replica_set.go,
pkg/controller/statefulset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from apportion_runtime.admission.expansion import is_suspended
from apportion_runtime.admission.objects import kind_of, name_of, namespace_of, nested, whole
from apportion_runtime.sim.observed.workloads import ObservedWorkload, Owner
from apportion_runtime.sim.scenario.format import Manifest

_JOB = ("batch", "Job")
_ALIKE = frozenset((_JOB, ("apps", "ReplicaSet"), ("apps", "StatefulSet")))
_OVER = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")


def with_missing_pods(
    observed: Sequence[ObservedWorkload], objects: Sequence[Manifest], queued: Sequence[Manifest] = ()
) -> list[ObservedWorkload]:
    """Return workloads with the pods that their controllers lack, and workloads that have no pods.

    Args:
        observed: The workloads of a snapshot.
        objects: All objects of the snapshot.
        queued: Jobs among them that wait in a queue: they lack no pods.
    """
    found = list(observed)
    numbers = {owner: number for number, each in enumerate(found) for owner in each.owners}
    held = {_identity(made) for made in queued}
    for owner, lacking in _missing(objects):
        if owner in held:
            continue
        number = numbers.get(owner)
        if number is None:
            found.append(ObservedWorkload(owner, frozenset((owner,)), missing=(lacking,)))
        else:
            found[number] = replace(found[number], missing=(*found[number].missing, lacking))
    return found


def n_missing_pods(objects: Sequence[Manifest], queued: Sequence[Manifest] = ()) -> int:
    """Return the number of pods that the controllers of a snapshot lack."""
    held = {_identity(made) for made in queued}
    return sum(int(lacking["count"]) for owner, lacking in _missing(objects) if owner not in held)


def _missing(objects: Sequence[Manifest]) -> Iterator[tuple[Owner, Mapping[str, Any]]]:
    """Yield controllers, and the pods that each lacks as a pod set."""
    alike = [made for made in objects if kind_of(made) in _ALIKE]
    if not alike:
        return
    n_pods = Counter(owner for pod in objects if kind_of(pod) == ("", "Pod") and _lives(pod) for owner in _owner(pod))
    for made in alike:
        owner = _identity(made)
        count = _n_wanted(made) - n_pods[owner]
        if count > 0:
            yield (
                owner,
                {"name": f"missing-{name_of(made)}", "count": count, "template": nested(made, "spec", "template")},
            )


def _n_wanted(made: Manifest) -> int:
    """Return the number of pods that a controller currently requires."""
    if nested(made, "metadata", "deletionTimestamp") or not nested(made, "spec", "template"):
        return 0
    if kind_of(made) != _JOB:
        replicas = whole(made, "spec", "replicas")
        return 1 if replicas is None else replicas
    conditions = nested(made, "status", "conditions") or ()
    if is_suspended(made) or any(each.get("type") in _OVER and each.get("status") == "True" for each in conditions):
        return 0
    parallelism, completions = whole(made, "spec", "parallelism"), whole(made, "spec", "completions")
    at_once = 1 if parallelism is None else parallelism
    succeeded = whole(made, "status", "succeeded") or 0
    if completions is None:
        # Without completions, a Job creates no pod once one has succeeded.
        return 0 if succeeded else at_once
    return min(at_once, completions - succeeded)


def _lives(pod: Manifest) -> bool:
    return nested(pod, "status", "phase") not in ("Succeeded", "Failed")


def _owner(pod: Manifest) -> Iterator[Owner]:
    for each in nested(pod, "metadata", "ownerReferences") or ():
        yield Owner(namespace_of(pod), str(each.get("name")), str(each.get("kind")))


def _identity(made: Manifest) -> Owner:
    return Owner(namespace_of(made), name_of(made), str(made.get("kind")))
