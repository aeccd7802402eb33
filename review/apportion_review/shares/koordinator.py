"""The runtime quotas of Koordinator's elastic quotas, as its plugin divides GPUs.

Source: koordinator-sh/koordinator pkg/scheduler/plugins/elasticquota/core at a7a1b76b, in
`apportion_runtime.engines.koordinator.division`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.koordinator.names import (
    DEFAULT_QUOTA,
    QUEUE_LABEL,
    ROOT_QUOTA,
    SYSTEM_QUOTA,
)
from apportion_api.koordinator.objects import ElasticQuota
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.objects import read_all
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.plain_objects import Manifest, labels_of, text
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.shares.counted_resources import counted_resource
from apportion_review.shares.division_records import (
    THOUSANDTHS,
    Claim,
    ClaimInputs,
    Division,
    DivisionInputs,
    Round,
    Setting,
    Step,
    parents_before_children,
)
from apportion_review.shares.share_engine import AGES, PODS, ShareEngine
from apportion_review.shares.snapshot_gpus import snapshot_gpus
from apportion_runtime.engines.koordinator.division import ROOT, Quota, Record, runtime_quotas
from apportion_runtime.snapshots.pod_requests import amount

_OWN = (ROOT_QUOTA, SYSTEM_QUOTA, DEFAULT_QUOTA)


def elastic_quotas(objects: Sequence[Manifest]) -> list[ElasticQuota]:
    """Return the quotas that Koordinator does not create itself."""
    return [quota for quota in read_all(ElasticQuota, objects) if quota.name not in _OWN]


def quota_of(made: ElasticQuota, resource: str, requested: int) -> Quota:
    """Return an elastic quota for one resource.

    Args:
        made: The quota's object.
        resource: The resource, such as `nvidia.com/gpu`.
        requested: Requests of its own pods.

    Raises:
        ValueError: If a number cannot be read.
    """
    least, most, weight = (listed.get(resource) for listed in (made.minimum, made.maximum, made.weights))
    return Quota(
        made.name,
        ROOT if made.parent == ROOT_QUOTA else made.parent,
        0 if least is None else amount(resource, str(least)),
        None if most is None else amount(resource, str(most)),
        0 if weight is None else amount(resource, str(weight)),
        lends=made.lends,
        own_request=requested,
    )


def koordinator_inputs(
    objects: Sequence[Manifest],
    capacities: Mapping[str, int | None],
    requested: Mapping[str, int] | None = None,
) -> Iterator[DivisionInputs]:
    """Yield the inputs of the division in each quota tree.

    Args:
        objects: Compiled objects of a cluster.
        capacities: Capacity of each resource, in thousandths of a GPU; resources without one are skipped.
        requested: GPUs that the pods of each quota request, by name; None if every leaf requests all resources.
    """
    quotas = elastic_quotas(objects)
    for tree in dict.fromkeys(quota.tree_id for quota in quotas):
        members = [quota for quota in quotas if quota.tree_id == tree]
        resource = counted_resource(tree or None, capacities, is_divided=len(members) < len(quotas))
        capacity = None if resource is None else capacities.get(resource)
        if resource is not None and capacity is not None:
            yield _inputs(resource, capacity // THOUSANDTHS, members, requested)


def koordinator_snapshot_inputs(state: ClusterState, resources: Sequence[str]) -> Iterator[DivisionInputs]:
    """Yield what is divided in each quota tree with the requests of a snapshot's pods, on its nodes.

    Args:
        state: The cluster; its time does not matter.
        resources: Those that the policy counts on the cluster.

    Raises:
        ValueError: If a number cannot be read.
    """
    objects = state.objects
    quotas = elastic_quotas(objects)
    quota_by_namespace = {namespace: quota.name for quota in quotas for namespace in quota.namespaces}
    names = {quota.name for quota in quotas}

    def quota_of_pod(pod: Manifest) -> str | None:
        name = labels_of(pod).get(QUEUE_LABEL) or quota_by_namespace.get(text(pod, "metadata", "namespace") or "")
        return name if name in names else None

    gpus = snapshot_gpus(objects, resources, {quota.tree_id for quota in quotas if quota.tree_id}, quota_of_pod)
    yield from koordinator_inputs(objects, gpus.capacities, gpus.requested)


def _inputs(
    resource: str, total: int, members: Sequence[ElasticQuota], requested: Mapping[str, int] | None
) -> DivisionInputs:
    names = {made.name for made in members}
    inner = {made.parent for made in members}
    claims: list[ClaimInputs] = []
    for made in members:
        name = made.name
        everything = 0 if name in inner else total
        quota = quota_of(made, GPU_RESOURCE, everything if requested is None else requested.get(name, 0))
        numbers: dict[str, Setting] = {
            "min": quota.min,
            "max": quota.max,
            "weight": quota.weight,
            "lends": quota.lends,
            "ownRequest": quota.own_request,
        }
        # Koordinator creates the root of a model's tree from its profile.
        parent = quota.parent if quota.parent in names else None
        claims.append(ClaimInputs(name, made.labels.get(QUEUE_ID_LABEL, name), parent, numbers))
    return DivisionInputs("koordinator", resource, total, {}, parents_before_children(claims))


def koordinator_divisions(inputs: DivisionInputs) -> Iterator[Division]:
    """Yield the division of each level, parents first, by the simulated engine's model."""
    known = {claim.name: claim for claim in inputs.claims}
    records: dict[str, Record] = {}
    runtime_quotas(int(inputs.total), map(_quota, inputs.claims), records=records)
    for parent, record in records.items():
        steps = [Step(name, "guaranteed", 0, given) for name, given in record.guaranteed.items()]
        for number, made in enumerate(record.rounds, 1):
            steps += [Step(name, "surplus", number, given) for name, given in made.given.items()]
            steps += [Step(name, "returned", number, -back) for name, back in made.returned.items()]
        claims = (
            Claim(m.name, known[m.name].queue, {**known[m.name].numbers, "request": m.request}, record.runtime[m.name])
            for m in record.members
        )
        yield Division(
            None if parent == ROOT else parent,
            record.total,
            tuple(claims),
            tuple(Round(0, number, made.left, made.weights) for number, made in enumerate(record.rounds, 1)),
            tuple(step for step in steps if step.amount),
            record.total - sum(record.runtime.values()),
        )


def _quota(claim: ClaimInputs) -> Quota:
    least, most, weight, own = (claim.numbers[key] for key in ("min", "max", "weight", "ownRequest"))
    return Quota(
        claim.name,
        ROOT if claim.parent is None else claim.parent,
        int(least or 0),
        None if most is None else int(most),
        int(weight or 0),
        lends=bool(claim.numbers["lends"]),
        own_request=int(own or 0),
    )


SHARES = ShareEngine(koordinator_inputs, koordinator_snapshot_inputs, koordinator_divisions, assumes=AGES, counts=PODS)
