"""The quota that Kueue's ClusterQueues can use: nominal, and borrowed within their cohorts.

Only quotas matter: Kueue does not evaluate nodes. The flavors of one GPU model are combined.

Source: kubernetes-sigs/kueue v0.18.3, pkg/cache/scheduler/resource_node.go; `kueue_division` has the division of
borrowed quota.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kueue.names import CONFIGURATION, CONFIGURATION_GROUP, GROUP, NOT_STOPPED
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.plain_objects import Manifest, integer, items, labels_of, mapping, name_of, text
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_policy.resources import GPU, gpu_resource
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.fates.kueue import model_of_flavor
from apportion_review.fates.workloads import UNKNOWN_MODEL, of_group
from apportion_review.shares.division_records import THOUSANDTHS, ClaimInputs, DivisionInputs, Number, Setting
from apportion_review.shares.kueue_division import kueue_divisions
from apportion_review.shares.share_engine import ShareEngine
from apportion_runtime.engines.kueue.object_reader import read
from apportion_runtime.engines.kueue.quota_tree import Node, Quota
from apportion_runtime.engines.kueue.records import INITIAL_SHARE
from apportion_runtime.engines.kueue.usage_tree import cohort_name
from apportion_runtime.snapshots.pod_requests import amount, pod_requests

_COHORT = cohort_name("")


@dataclass(frozen=True, slots=True)
class _Quotas:
    """The quota tree.

    Attributes:
        nodes: Cohorts and active ClusterQueues by name, parents before their children.
        ids: The policy's ids.
        flavors: The GPU flavors of each ClusterQueue, in the order in which Kueue tries them.
        resource_of: What the policy calls the GPUs of each flavor.
        local_queues: The ClusterQueue of each LocalQueue, by namespace and name.
        is_fair: Whether borrowed quota is divided by weight.
    """

    nodes: Mapping[str, Node]
    ids: Mapping[str, str]
    flavors: Mapping[str, Sequence[str]]
    resource_of: Mapping[str, str]
    local_queues: Mapping[tuple[str, str], str]
    is_fair: bool


def kueue_inputs(objects: Sequence[Manifest], capacities: Mapping[str, int | None]) -> Iterator[DivisionInputs]:
    """Yield the quota of each GPU model if every ClusterQueue requests all resources.

    Args:
        objects: Compiled objects of a cluster.
        capacities: Capacity of the cluster in thousandths, by resource; resources without one are skipped.

    Raises:
        ValueError: If an object cannot be read.
    """
    quotas = _quotas([each for each in objects if each.get("kind") != "LocalQueue"], list(capacities))
    for resource in dict.fromkeys(quotas.resource_of.values()):
        capacity = capacities.get(resource)
        if capacity is not None:
            whole = capacity // THOUSANDTHS
            yield _inputs(quotas, resource, dict.fromkeys(quotas.flavors, whole))


def kueue_snapshot_inputs(state: ClusterState, resources: Sequence[str]) -> Iterator[DivisionInputs]:
    """Yield the quota of each GPU model with the reserved and pending quota of a snapshot's Workloads.

    A pending Workload counts for the flavor that its pods select, or the first one of its ClusterQueue.

    Args:
        state: The cluster; its time is unused.
        resources: Resources that the policy counts on the cluster.

    Raises:
        ValueError: If an object cannot be read.
    """
    objects = state.objects
    quotas = _quotas(objects, resources)
    requested: dict[str, dict[str, int]] = {}
    for workload in of_group(objects, GROUP, "Workload"):
        for queue, resource, asked in _requests(workload, quotas):
            held = requested.setdefault(resource, {})
            held[queue] = held.get(queue, 0) + asked
    for resource in dict.fromkeys(quotas.resource_of.values()):
        yield _inputs(quotas, resource, requested.get(resource, {}))


def _requests(workload: Manifest, quotas: _Quotas) -> Iterator[tuple[str, str, int]]:
    """Yield the queue, the resource and the GPUs of each pod set that holds quota or waits for it.

    Thousands of Workloads are read here for a few of their fields, which is why they are not read as records.
    """
    conditions = [mapping(each) for each in items(workload, "status", "conditions")]
    if any(each.get("type") == "Finished" and each.get("status") == "True" for each in conditions):
        return
    admission = mapping(workload, "status", "admission")
    if admission:
        for each in items(admission, "podSetAssignments"):
            resource = quotas.resource_of.get(text(each, "flavors", GPU_RESOURCE) or "")
            if resource is not None:
                held = amount(GPU_RESOURCE, str(mapping(each, "resourceUsage").get(GPU_RESOURCE, 0)))
                yield text(admission, "clusterQueue") or "", resource, held
        return
    place = (text(workload, "metadata", "namespace") or "", text(workload, "spec", "queueName") or "")
    queue = quotas.local_queues.get(place)
    if queue is None or mapping(workload, "spec").get("active") is False:
        return
    resources = [quotas.resource_of[flavor] for flavor in quotas.flavors.get(queue, ())]
    for pod_set in items(workload, "spec", "podSets"):
        spec = mapping(pod_set, "template", "spec")
        count = integer(pod_set, "count")
        asked = (1 if count is None else count) * pod_requests(spec).get(GPU_RESOURCE, 0)
        model = mapping(spec, "nodeSelector").get(GPU_MODEL_LABEL)
        selected = [each for each in resources if model is not None and each == gpu_resource(str(model))]
        if asked and (selected or resources):
            yield queue, (selected or resources)[0], asked


def _quotas(objects: Sequence[Manifest], resources: Sequence[str]) -> _Quotas:
    groups = (GROUP, CONFIGURATION_GROUP)
    kueue = [each for each in objects if str(each.get("apiVersion") or "").rpartition("/")[0] in groups]
    by_kind: dict[str, list[Manifest]] = {}
    for made in kueue:
        by_kind.setdefault(str(made.get("kind")), []).append(made)
    configured = read(lambda kind: by_kind.get(kind, ()))
    stopped = {
        name_of(made)
        for made in by_kind.get("ClusterQueue", ())
        if (text(made, "spec", "stopPolicy") or NOT_STOPPED) != NOT_STOPPED
    }
    queues = [
        Node(queue.name, None if queue.cohort is None else cohort_name(queue.cohort), queue.quotas, queue.weight)
        for queue in configured.rules.queues.values()
        if queue.name not in stopped
    ]
    with_gpus = {flavor for node in queues for flavor, of in node.quotas if of == GPU_RESOURCE}
    resource_of = {
        name_of(flavor): resource
        for flavor in of_group(kueue, GROUP, "ResourceFlavor")
        if name_of(flavor) in with_gpus and (resource := _counted(model_of_flavor(flavor), resources)) is not None
    }
    # Without the manager's configuration among the objects, the compiled one is used.
    strategies = configured.rules.strategies if CONFIGURATION in by_kind else (INITIAL_SHARE,)
    return _Quotas(
        _in_order([*configured.rules.cohorts, *queues]),
        {
            **{
                cohort_name(name_of(m)): labels_of(m).get(QUEUE_ID_LABEL, name_of(m)) for m in by_kind.get("Cohort", ())
            },
            **{name_of(m): labels_of(m).get(QUEUE_ID_LABEL, name_of(m)) for m in by_kind.get("ClusterQueue", ())},
        },
        {
            node.name: [flavor for flavor, of in node.quotas if of == GPU_RESOURCE and flavor in resource_of]
            for node in queues
        },
        resource_of,
        configured.local_queues,
        strategies is not None,
    )


def _counted(model: str, resources: Iterable[str]) -> str | None:
    """Return the policy's name of the GPUs of a flavor; None if it counts none."""
    known = [resource for resource in resources if resource.partition("/")[0] == GPU]
    if model != UNKNOWN_MODEL and gpu_resource(model) in known:
        return gpu_resource(model)
    models = [resource for resource in known if resource != GPU]
    if model == UNKNOWN_MODEL and len(models) == 1:
        return models[0]
    return GPU if GPU in known else None


def _in_order(nodes: Sequence[Node]) -> dict[str, Node]:
    """Return the nodes with cohorts that are only referenced, parents before their children."""
    known = {node.name: node for node in nodes}
    for node in nodes:
        if node.parent is not None and node.parent not in known:
            known[node.parent] = Node(node.parent, is_cohort=True)
    children: dict[str | None, list[Node]] = {}
    for node in known.values():
        children.setdefault(node.parent, []).append(node)
    found: dict[str, Node] = {}
    pending = children.get(None, [])[::-1]
    while pending:
        node = pending.pop()
        found[node.name] = node
        pending += reversed(children.get(node.name, ()))
    return found


def _inputs(quotas: _Quotas, resource: str, requested: Mapping[str, int]) -> DivisionInputs:
    claims: list[ClaimInputs] = []
    for name, node in quotas.nodes.items():
        held = [
            quota
            for (flavor, of), quota in node.quotas.items()
            if of == GPU_RESOURCE and quotas.resource_of.get(flavor) == resource
        ]
        numbers: dict[str, Setting] = {
            "nominal": sum(quota.nominal for quota in held),
            **_limits(held),
            "weight": _weight(node.weight),
            # Without a flavor, a ClusterQueue has no quota.
            "ownRequest": requested.get(name, 0) if held else 0,
        }
        claims.append(ClaimInputs(name, quotas.ids.get(name, name.removeprefix(_COHORT)), node.parent, numbers))
    total = sum(int(claim.numbers["nominal"] or 0) for claim in claims)
    return DivisionInputs("kueue", resource, total, {"fairSharing": int(quotas.is_fair)}, tuple(claims))


def _limits(held: Sequence[Quota]) -> dict[str, Setting]:
    borrowing = [quota.borrowing_limit for quota in held]
    lending = [quota.lending_limit for quota in held]
    return {
        "borrowingLimit": None if None in borrowing or not held else sum(limit or 0 for limit in borrowing),
        "lendingLimit": None if None in lending or not held else sum(limit or 0 for limit in lending),
    }


def _weight(weight: float) -> Number:
    return int(weight) if weight.is_integer() else weight


SHARES = ShareEngine(
    kueue_inputs,
    kueue_snapshot_inputs,
    kueue_divisions,
    "Shares on Kueue are shares of quota, assuming single-GPU workloads and ClusterQueues that reclaim their nominal "
    "quota from any other queue; nodes are ignored.",
    counts="Shares for the snapshot are computed from its Workloads.",
)
