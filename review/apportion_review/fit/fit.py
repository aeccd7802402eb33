"""Whether a workload fits a cluster of a policy. The cluster's engine decides this and every proposed change.

Read `probe.py` next: all results are decisions of the simulated engine on the observed cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from apportion_api.counted_nouns import agreeing, counted
from apportion_api.kai.objects import SchedulingShard
from apportion_api.objects import read_all
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.plain_objects import Manifest, name_of, text
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_compiler.workload_shapes import mapping, pod_sets
from apportion_policy.policy import Policy
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource
from apportion_review.fit.clusters import Compile, ObservedCluster
from apportion_review.fit.free_capacity import free_in_pools, free_in_queues
from apportion_review.fit.largest_size import largest
from apportion_review.fit.minimum_size import minimum_of
from apportion_review.fit.network_topologies import ignored_topologies
from apportion_review.fit.pod_requests import (
    gpus_of_workload,
    largest_request,
    request_text,
    resource_of,
    with_request,
)
from apportion_review.fit.pool_growth import pool_changes
from apportion_review.fit.probe import Probe
from apportion_review.fit.queue_use import queue_ids, used_by_queue
from apportion_review.fit.quota_raises import MAX_EVICTIONS, QuotaSearch, quota_changes
from apportion_review.fit.records import Change, ChangeKind, Decision, Fit, Outcome, Size, Start, Workload
from apportion_review.fit.scaling import dimension_of, scaled
from apportion_review.fit.start_time import start_of
from apportion_runtime.core.search_limit import SearchLimit
from apportion_runtime.snapshots.pod_requests import pod_requests

_MAX_REQUEST = 4096
IDLE = "Without a snapshot, the cluster is assumed to be idle, with every node pool at its max_nodes."
_NO_POOLS = (
    "Without a snapshot, the cluster has the nodes of its node pools. The policy declares none, so it has no nodes."
)
_GROWTH = "Node pools keep the size they have in the snapshot: autoscaling is not simulated."
_INCOMPLETE = (
    "The result is incomplete, because a search for victims stopped at its limit: other changes may also help."
)
_PENDING = "Pending work in the snapshot is scheduled first, as if the workload were submitted after it."


@dataclass(frozen=True, slots=True)
class Question:
    """A workload, and the policy under which it is submitted.

    Attributes:
        manifest: The submitted workload.
        queue: Id of its queue in the policy.
        is_bound: Whether the queue was assigned to it.
        policy: The policy.
        graph: Its graph.
        scope: The scope of the cluster.
        compile: Compiles the cluster under another policy.
        snapshot: Name of the snapshot; empty without one.
        written: The workload as its author wrote it, whose minimums hold; None if it is submitted unchanged.
    """

    manifest: Manifest
    queue: str
    is_bound: bool
    policy: Policy
    graph: PolicyGraph
    scope: Scope
    compile: Compile
    snapshot: str = ""
    written: Manifest | None = None


def fit_of(question: Question, observed: ObservedCluster) -> Fit:
    """Return whether a workload fits, and changes that would let it start.

    Raises:
        UnreadableError: If the engine cannot start from the objects.
        ValueError: If an object of the snapshot cannot be read.
    """
    answer = _answer(question, observed)
    probe = Probe(observed.build)
    decision = probe.decide(question.manifest)
    notes = (*_unaccounted(probe), *_notes(observed, decision))
    answer = replace(answer, decision=decision, notes=notes)
    if decision.outcome is Outcome.NOW:
        return answer
    used = used_by_queue(probe.cluster, question.graph, queue_ids(observed.compiled.program, observed.compiled.objects))
    size = _size(question, probe)
    free = tuple(_free(question, probe, used)) if size is None or not size.largest else ()
    raises = SearchLimit(MAX_EVICTIONS)
    changes = (
        *_smaller(question, probe, size),
        *_less(question, probe),
        *_more_quota(question, observed, used, decision, raises),
        *pool_changes(
            observed,
            probe,
            question.manifest,
            decision.n_pods or answer.workload.n_pods,
            evicts=decision.outcome is Outcome.AFTER_EVICTIONS,
        ),
    )
    start = None
    if decision.outcome is Outcome.WAITS and observed.snapshot is not None:
        start = start_of(observed, probe, question.manifest)
    elif decision.outcome is Outcome.LATER and decision.after_s is not None and observed.snapshot is not None:
        start = Start(observed.now + decision.after_s)
    if probe.is_incomplete or raises.is_exceeded:
        answer = replace(answer, notes=(*answer.notes, _INCOMPLETE), is_incomplete=True)
    return replace(answer, size=size, free=free, changes=changes, start=start)


def _answer(question: Question, observed: ObservedCluster) -> Fit:
    made = question.manifest
    workload = Workload(
        str(made.get("kind")),
        text(made, "metadata", "namespace") or "default",
        name_of(made),
        question.queue,
        gpus_of_workload(made),
        sum(each.count for each in pod_sets(made)),
        question.is_bound,
    )
    program = observed.compiled.program
    work = observed.workloads()
    return Fit(
        f"{program.environment}/{program.cluster}",
        program.engine,
        observed.model.title,
        workload,
        Decision(Outcome.UNDECIDED),
        question.snapshot,
        None if observed.snapshot is None else observed.now,
        sum(each.runs for each in work),
        sum(not each.runs for each in work) + len(observed.model.queued(observed.snapshot or ())),
    )


def _notes(observed: ObservedCluster, decision: Decision) -> Iterator[str]:
    if observed.snapshot is None:
        yield IDLE if observed.compiled.program.pools else _NO_POOLS
    else:
        if any(not each.runs for each in observed.workloads()) or observed.model.queued(observed.snapshot):
            yield _PENDING
        yield from ignored_topologies(observed)
        if any(pool.max_nodes > pool.min_nodes for pool in observed.compiled.program.pools):
            yield _GROWTH
    plans = sorted(pool.id for pool in observed.compiled.program.pools if pool.plan is not None)
    if plans and decision.outcome is not Outcome.NOW:
        names = ", ".join(plans)
        yield f"Nodes in {names} use queued provisioning; it is not known when the provider will supply them."


def _unaccounted(probe: Probe) -> Iterator[str]:
    """Yield a note if running GPU workloads are charged to no queue because a snapshot lacks the engine's objects."""
    state = probe.cluster.cluster_state
    found = [each for each in state.history.workloads if each.started_s is not None and each.gpus and not each.queue]
    if found:
        first = f"{found[0].kind} {found[0].namespace}/{found[0].name}"
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield (
            f"{counted(len(found), 'running workload')} with GPUs {agreeing(len(found), 'does', 'do')} not count against any "
            f"queue: {first}{more}. If the snapshot lacks their pod groups or Workloads, the quota in use is higher than "
            "assumed: include these objects."
        )


def _size(question: Question, probe: Probe) -> Size | None:
    dimension = dimension_of(question.manifest)
    if dimension is None or dimension.value <= 1:
        return None

    def fits(count: int) -> bool:
        return probe.starts_now(scaled(question.manifest, dimension, count))

    # A minimum that `bind` adds is the size itself; one of the author stays.
    least = minimum_of(question.manifest if question.written is None else question.written, dimension)
    found = largest(dimension.value, fits, least.value)
    size = Size(dimension.field, dimension.value, found.value, found.n_verified, 0, least.value, least.because)
    if found.value:
        return replace(size, gpus=gpus_of_workload(scaled(question.manifest, dimension, found.value)))
    if least.value == dimension.value:
        return size
    decision = probe.decide(scaled(question.manifest, dimension, least.value))
    return replace(size, reason=decision.reason or str(decision.outcome.value))


def _free(question: Question, probe: Probe, used: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    if gpus_of_workload(question.manifest):
        yield from free_in_pools(probe.cluster)
        yield from free_in_queues(question.queue, question.graph, question.scope, used)


def _smaller(question: Question, probe: Probe, size: Size | None) -> Iterator[Change]:
    if size is not None and 0 < size.largest < size.asked:
        yield Change(ChangeKind.SIZE, size.dimension, "", "", str(size.asked), str(size.largest))


def _less(question: Question, probe: Probe) -> Iterator[Change]:
    """Yield lower requests per pod with which the workload starts, for the first resource that helps."""
    for family in (GPU, CPU, MEMORY):
        resource = resource_of(question.manifest, family)
        present = largest_request(question.manifest, resource) if resource else 0
        if not 1 < present <= _MAX_REQUEST:
            continue
        found = _largest_request(question, probe, resource, present)
        if found:
            yield Change(
                ChangeKind.REQUEST,
                f"{resource} per container",
                "",
                family,
                request_text(resource, present),
                request_text(resource, found),
            )
            return


def _largest_request(question: Question, probe: Probe, resource: str, present: int) -> int:
    """Return the largest lower request with which the workload starts now; 0 if there is none."""

    def fits(most: int) -> bool:
        return probe.starts_now(with_request(question.manifest, resource, most))

    low, high = 0, present
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _more_quota(
    question: Question,
    observed: ObservedCluster,
    used: dict[str, dict[str, int]],
    decision: Decision,
    limit: SearchLimit,
) -> Iterator[Change]:
    if question.queue not in question.graph.nodes:
        return
    search = QuotaSearch(
        question.policy,
        question.graph,
        question.scope,
        question.compile,
        question.queue,
        used,
        _asked(question, observed),
        limit,
    )
    may_evict = decision.outcome is not Outcome.AFTER_EVICTIONS
    yield from quota_changes(search, observed, question.manifest, may_evict=may_evict)


def _asked(question: Question, observed: ObservedCluster) -> dict[str, int]:
    """Return the requests of all pods in base units; GPUs also by the models on which the workload may be placed."""
    asked = {GPU: gpus_of_workload(question.manifest), CPU: 0, MEMORY: 0}
    selected: set[str] = set()
    for each in pod_sets(question.manifest):
        requests = pod_requests(each.spec)
        for resource in (CPU, MEMORY):
            asked[resource] += each.count * requests.get(resource, 0)
        model = mapping(each.spec.get("nodeSelector")).get(GPU_MODEL_LABEL)
        if isinstance(model, str):
            selected.add(model)
    models = {pool.gpu_model for pool in observed.compiled.program.pools if pool.gpu_model is not None}
    if observed.shard is not None:
        # The partition of a shard is a GPU model; the workload is placed on no other.
        selected |= {shard.partition for shard in read_all(SchedulingShard, observed.compiled.objects)}
    for model in sorted(models & selected or models):
        asked[gpu_resource(model)] = asked[GPU]
    return {resource: amount for resource, amount in asked.items() if amount}
