"""Random policies with a valid structure: every reference exists, no queue is its own ancestor.

Their amounts may be inconsistent: backends accept any amounts, and checks report inconsistent ones.
Strategies are constants or cached, because Hypothesis spends more time on a new strategy than on a draw from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any

from hypothesis import strategies as st

from apportion_compiler.backends import BACKENDS
from apportion_compiler.engine_versions import minor_text
from apportion_compiler.engines.registry import TRAITS
from apportion_policy import (
    BINPACK,
    DEFAULT_PRIORITY_CLASSES,
    GPU_TAINT,
    SPREAD,
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    LiveScheduler,
    NodePool,
    Organisation,
    Override,
    Placement,
    Policy,
    PriorityClass,
    Queue,
    QueueOverride,
    Resources,
    TimeSlicing,
    Topology,
    UserLimit,
    Weight,
)

AS_OF = date(2026, 11, 21)
MODELS = ("a100", "h100", "l4")
POOLS = (*(f"gpu-{model}" for model in MODELS), "ordinary")
OWNERS = ("@acme/vision", "group:default/nlp", "@acme/platform")


@dataclass(frozen=True)
class Drawn:
    """The parts of a policy, which can be assembled in a different order.

    `parents` holds the index of each queue's parent; a parent stands before its children.
    """

    queues: tuple[dict[str, Any], ...]
    parents: tuple[int | None, ...]
    classes: tuple[PriorityClass, ...]
    pools: tuple[NodePool, ...]
    environments: tuple[Environment, ...]

    def policy(self) -> Policy:
        """Return the policy with all queues at the top level, which reference their parents by id."""
        return self._with([_queue(parent=self._id(parent), **fields) for fields, parent in self._pairs()])

    def nested(self) -> Policy:
        """Return the policy with queues nested in their parents."""
        children: dict[int | None, list[int]] = {}
        for index, parent in enumerate(self.parents):
            children.setdefault(parent, []).append(index)

        def build(index: int) -> Queue:
            return _queue(children=tuple(build(c) for c in children.get(index, ())), **self.queues[index])

        return self._with([build(root) for root in children[None]])

    def permuted(self, order: Sequence[int], seed: int) -> Policy:
        """Return the policy with reordered queues and rotated classes and pools."""
        queues = [_queue(parent=self._id(self.parents[i]), **self.queues[i]) for i in order]
        turned = replace(self, classes=_turned(self.classes, seed), pools=_turned(self.pools, seed))
        return turned._with(queues)

    def _pairs(self) -> list[tuple[dict[str, Any], int | None]]:
        return list(zip(self.queues, self.parents, strict=True))

    def _id(self, index: int | None) -> str | None:
        return None if index is None else str(self.queues[index]["id"])

    def _with(self, queues: Sequence[Queue]) -> Policy:
        return Policy(
            organisation=Organisation(name="acme", owner="@acme/platform"),
            queues=tuple(queues),
            priority_classes=self.classes,
            node_pools=self.pools,
            environments=self.environments,
        )


def _queue(**fields: Any) -> Queue:
    """Declare a queue, always on the same line, since objects include the source line."""
    return Queue(**fields)


def _turned(items: tuple[Any, ...], by: int) -> tuple[Any, ...]:
    by %= max(len(items), 1)
    return items[by:] + items[:by]


_label = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
_identifiers = st.one_of(
    _label,
    _label,
    st.sampled_from(("a" * 80, "b" * 64, "Team_X", "équipe", "a.b", "x-h100", "x-a100", "x")),
)
names = st.one_of(_label, _label, st.sampled_from(("x-h100", "x-a100", "x")))
"""Identifiers that are valid object names: those that AP104 accepts."""
_cpu = st.one_of(st.just(UNLIMITED), st.integers(0, 10_000), st.sampled_from(("500m", "0", "1.5", "3k")))
_memory = st.one_of(
    st.just(UNLIMITED),
    st.integers(0, 2**63 - 1),
    st.sampled_from(("1Gi", "2Ti", "1500M", "0", "1Ki", "7Pi", "123456789")),
)
_count = st.one_of(st.just(UNLIMITED), st.integers(0, 64))
_devices = st.one_of(_count, st.sampled_from(("0.5", "2.125", "0.001")))
_gpu = st.one_of(_devices, st.dictionaries(st.sampled_from(MODELS), _devices, min_size=1))
_durations = st.sampled_from(("0s", "45s", "10m", "1h30m", "7d"))
_weights = st.one_of(
    st.integers(0, 9),
    st.sampled_from(("0.5", "0.001", "12.25")),
    st.builds(Weight, cpu=st.integers(0, 9), gpu=st.sampled_from((None, "0.25"))),
)


_extended = st.none() | st.dictionaries(st.sampled_from(("rdma/hca", "example.com/fpga")), _count)
_one_of_six = st.integers(0, 5)
_machines = st.dictionaries(st.sampled_from(POOLS), st.integers(0, 20), min_size=1)
_maybe_cpu = st.none() | _cpu
_maybe_memory = st.none() | _memory
_maybe_gpu = st.none() | _gpu


@st.composite
def resources(draw: st.DrawFn) -> Resources:
    """Draw amounts: each field unset, zero, whole, fractional or UNLIMITED; or machines."""
    extended = draw(_extended)
    if draw(_one_of_six) == 0:
        return Resources(machines=draw(_machines), extended=extended)
    return Resources(cpu=draw(_maybe_cpu), memory=draw(_maybe_memory), gpu=draw(_maybe_gpu), extended=extended)


_maybe_resources = st.none() | resources()
_maybe_weight = st.none() | _weights
_maybe_duration = st.none() | _durations
_maybe_true = st.none() | st.booleans()
_booleans = st.booleans()
_up_to_two = st.integers(0, 2)
_one_or_two = st.integers(1, 2)
_pool_ids = st.lists(st.sampled_from(POOLS), unique=True)
_override = st.builds(
    Override,
    begin=st.just(date(2026, 11, 1)),
    end=st.sampled_from((date(2026, 11, 20), date(2026, 12, 1))),
    reason=st.just("deadline"),
    owner=st.sampled_from(OWNERS),
    environments=st.none() | st.just(("env-0",)),
    guaranteed=_maybe_resources,
    limit=_maybe_resources,
    over_quota_weight=_maybe_weight,
    priority=st.none() | st.integers(0, 200),
)
_title = st.none() | st.sampled_from(("Vision", 'Ads: "fast" #1', "日本"))
_owner = st.none() | st.sampled_from(OWNERS)
_users = st.just(()) | st.tuples(st.builds(UserLimit, user=st.just("*"), limit=resources()))
_priority = st.none() | st.integers(0, 2**31 - 1)
_overrides = st.just(()) | st.tuples(_override)
_labels = st.sampled_from(({}, {"cost-centre": "42", "acme.example/tier": "Gold_1"}))
_class_names = st.lists(st.sampled_from(("low", "mid", "high", "train", "x" * 70)), unique=True)
_class_value = st.integers(-1000, 1_000_000_000)
_description = st.none() | st.just("A tier: #1")
_strategy = st.sampled_from((BINPACK, SPREAD))
_placement = st.builds(Placement, gpu=_strategy, cpu=_strategy)
_share = st.sampled_from(("1", "1/3", "50%"))
_topologies = st.sampled_from(((), (Topology(name="racks", levels=("example.com/rack", "kubernetes.io/hostname")),)))
_kai = st.builds(
    KaiSettings,
    k_value=st.none() | st.sampled_from((0, 1, "0.5", "2.125")),
    preempt_min_runtime=_maybe_duration,
    reclaim_min_runtime=_maybe_duration,
    queue_depth_per_action=st.sampled_from(({}, {"reclaim": 8, "allocate": 25})),
    max_consolidation_preemptees=st.none() | st.integers(0, 40),
    gpu_sharing=_maybe_true,
    emit_installed_priority_classes=_booleans,
    full_hierarchy_fairness=_booleans,
    scheduler_name=st.sampled_from(("kai-scheduler", "team-scheduler")),
    live_scheduler=st.none()
    | st.builds(LiveScheduler, reservation_image=st.none() | st.just("registry/resourcereservation:v1")),
)


@cache
def _parent(index: int) -> st.SearchStrategy[int | None]:
    return st.sampled_from([None, *range(index)])


@cache
def _some(names: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    chosen = st.lists(st.sampled_from(names), unique=True) if names else st.just([])
    return chosen.map(tuple)


@cache
def _maybe_some(names: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...] | None]:
    return st.none() | _some(names)


@cache
def _engines(only: str | None) -> st.SearchStrategy[Engine]:
    return st.sampled_from([Engine(name) for name in BACKENDS if only in (None, name)])


@st.composite
def drawn(
    draw: st.DrawFn, max_queues: int = 8, identifiers: st.SearchStrategy[str] = _identifiers, engine: str | None = None
) -> Drawn:
    """Draw the parts of a policy, for the given engine or any."""
    ids = draw(_ids(identifiers, max_queues))
    parents = tuple(draw(_parent(index)) for index in range(len(ids)))
    inner = {parent for parent in parents if parent is not None}
    classes = draw(_classes(ids))
    pools = tuple(draw(_pool(id_)) for id_ in draw(_pool_ids))
    queues = tuple(
        draw(_queue_fields(id_, index, is_leaf=index not in inner, classes=classes, pools=pools))
        for index, id_ in enumerate(ids)
    )
    n_environments = draw(_one_or_two)
    environments = tuple(draw(_environment(f"env-{n}", pools, ids, engine)) for n in range(n_environments))
    return Drawn(queues, parents, classes, _with_all(pools), environments)


@cache
def _ids(identifiers: st.SearchStrategy[str], max_size: int) -> st.SearchStrategy[list[str]]:
    return st.lists(identifiers, min_size=1, max_size=max_size, unique=True)


def policies(
    max_queues: int = 8, identifiers: st.SearchStrategy[str] = _identifiers, engine: str | None = None
) -> st.SearchStrategy[Policy]:
    """Draw a policy, for the given engine or any."""
    return drawn(max_queues, identifiers, engine).map(Drawn.policy)


def _with_all(pools: tuple[NodePool, ...]) -> tuple[NodePool, ...]:
    """Declare all pools, since amounts may refer to machines of any; clusters have only the drawn ones."""
    held = {pool.id for pool in pools}
    return (*pools, *(_node_pool(id_, 8, None, None) for id_ in POOLS if id_ not in held))


@st.composite
def _queue_fields(
    draw: st.DrawFn,
    id_: str,
    index: int,
    *,
    is_leaf: bool,
    classes: tuple[PriorityClass, ...],
    pools: tuple[NodePool, ...],
) -> dict[str, Any]:
    n_namespaces = draw(_up_to_two) if is_leaf else 0
    return {
        "id": id_,
        "title": draw(_title),
        "owner": draw(_owner),
        "namespaces": tuple(f"ns-{index}-{n}" for n in range(n_namespaces)),
        "users": draw(_users),
        "guaranteed": draw(_maybe_resources),
        "limit": draw(_maybe_resources),
        "lending_limit": draw(_maybe_resources),
        "over_quota_weight": draw(_maybe_weight),
        "priority": draw(_priority),
        "preempt_min_runtime": draw(_maybe_duration),
        "reclaim_min_runtime": draw(_maybe_duration),
        "gpu_sharing": draw(_maybe_true),
        "pools": draw(_maybe_some(tuple(pool.id for pool in pools))),
        "priority_classes": draw(_maybe_some(tuple(cls.name for cls in classes))),
        "overrides": draw(_overrides),
        "labels": draw(_labels),
    }


@st.composite
def _classes(draw: st.DrawFn, queue_ids: Sequence[str]) -> tuple[PriorityClass, ...]:
    if draw(_booleans):
        return DEFAULT_PRIORITY_CLASSES
    return tuple(
        PriorityClass(
            name=name,
            value=draw(_class_value),
            preemptible=draw(_maybe_true),
            queues=draw(_maybe_some(tuple(queue_ids))),
            global_default=number == 0 and draw(_booleans),
            description=draw(_description),
        )
        for number, name in enumerate(draw(_class_names))
    )


@cache
def _pool(id_: str) -> st.SearchStrategy[NodePool]:
    return st.builds(
        _node_pool,
        st.just(id_),
        st.integers(1, 16),
        st.none() | _placement,
        st.none() | st.just(TimeSlicing(clients=4)),
    )


def _node_pool(id_: str, n_gpus: int, placement: Placement | None, sharing: TimeSlicing | None) -> NodePool:
    model = id_.removeprefix("gpu-")
    return NodePool(
        id=id_,
        cpu=96,
        memory="1Ti",
        accelerator=Accelerator(model=model, count=n_gpus) if model in MODELS else None,
        max_nodes=10,
        taints=(GPU_TAINT,) if model in MODELS else (),
        placement=placement,
        sharing=sharing if model in MODELS else None,
    )


@st.composite
def _environment(
    draw: st.DrawFn, name: str, pools: tuple[NodePool, ...], ids: Sequence[str], engine: str | None
) -> Environment:
    clusters = tuple(draw(_cluster(f"c-{n}", pools, engine)) for n in range(draw(_one_or_two)))
    return Environment(name=name, clusters=clusters, overrides=tuple(draw(_queue_overrides(tuple(ids)))))


@cache
def _queue_overrides(ids: tuple[str, ...]) -> st.SearchStrategy[list[QueueOverride]]:
    made = st.builds(
        QueueOverride,
        queue=st.sampled_from(ids),
        guaranteed=_maybe_resources,
        limit=_maybe_resources,
        priority=st.none() | st.integers(0, 200),
        preempt_min_runtime=_maybe_duration,
    )
    return st.lists(made, max_size=2)


@st.composite
def _cluster(draw: st.DrawFn, name: str, pools: tuple[NodePool, ...], only: str | None) -> Cluster:
    engine = draw(_engines(only))
    return Cluster(
        name=name,
        engine=engine,
        engine_version=minor_text(TRAITS[engine.value].versions.newest or TRAITS[engine.value].versions.oldest),
        pools=draw(_some(tuple(pool.id for pool in pools))),
        share=draw(_share),
        placement=draw(_placement),
        topologies=draw(_topologies),
        kai=draw(_kai),
    )
