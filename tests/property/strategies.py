"""Random policies with a valid structure: every reference exists, no queue is its own ancestor.

Their amounts may be inconsistent: backends accept any amounts, and checks report inconsistent ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
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


@st.composite
def resources(draw: st.DrawFn) -> Resources:
    """Draw amounts: each field unset, zero, whole, fractional or UNLIMITED; or machines."""
    extended = draw(st.none() | st.dictionaries(st.sampled_from(("rdma/hca", "example.com/fpga")), _count))
    if draw(st.integers(0, 5)) == 0:
        machines = draw(st.dictionaries(st.sampled_from(POOLS), st.integers(0, 20), min_size=1))
        return Resources(machines=machines, extended=extended)
    return Resources(
        cpu=draw(st.none() | _cpu), memory=draw(st.none() | _memory), gpu=draw(st.none() | _gpu), extended=extended
    )


@st.composite
def drawn(
    draw: st.DrawFn, max_queues: int = 8, identifiers: st.SearchStrategy[str] = _identifiers, engine: str | None = None
) -> Drawn:
    """Draw the parts of a policy, for the given engine or any."""
    ids = draw(st.lists(identifiers, min_size=1, max_size=max_queues, unique=True))
    parents = tuple(draw(st.sampled_from([None, *range(index)])) for index in range(len(ids)))
    inner = {parent for parent in parents if parent is not None}
    classes = draw(_classes(ids))
    pools = tuple(draw(_pool(id_)) for id_ in draw(st.lists(st.sampled_from(POOLS), unique=True)))
    queues = tuple(
        draw(_queue_fields(id_, index, is_leaf=index not in inner, classes=classes, pools=pools))
        for index, id_ in enumerate(ids)
    )
    n_environments = draw(st.integers(1, 2))
    environments = tuple(draw(_environment(f"env-{n}", pools, ids, engine)) for n in range(n_environments))
    return Drawn(queues, parents, classes, _with_all(pools), environments)


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
    n_namespaces = draw(st.integers(0, 2)) if is_leaf else 0
    return {
        "id": id_,
        "title": draw(st.none() | st.sampled_from(("Vision", 'Ads: "fast" #1', "日本"))),
        "owner": draw(st.none() | st.sampled_from(OWNERS)),
        "namespaces": tuple(f"ns-{index}-{n}" for n in range(n_namespaces)),
        "users": draw(st.just(()) | st.tuples(st.builds(UserLimit, user=st.just("*"), limit=resources()))),
        "guaranteed": draw(st.none() | resources()),
        "limit": draw(st.none() | resources()),
        "lending_limit": draw(st.none() | resources()),
        "over_quota_weight": draw(st.none() | _weights),
        "priority": draw(st.none() | st.integers(0, 2**31 - 1)),
        "preempt_min_runtime": draw(st.none() | _durations),
        "reclaim_min_runtime": draw(st.none() | _durations),
        "gpu_sharing": draw(st.none() | st.booleans()),
        "pools": draw(st.none() | _some(tuple(pool.id for pool in pools))),
        "priority_classes": draw(st.none() | _some(tuple(cls.name for cls in classes))),
        "overrides": draw(st.just(()) | st.tuples(_override())),
        "labels": draw(st.sampled_from(({}, {"cost-centre": "42", "acme.example/tier": "Gold_1"}))),
    }


def _some(names: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    chosen = st.lists(st.sampled_from(names), unique=True) if names else st.just([])
    return chosen.map(tuple)


def _override() -> st.SearchStrategy[Override]:
    return st.builds(
        Override,
        begin=st.just(date(2026, 11, 1)),
        end=st.sampled_from((date(2026, 11, 20), date(2026, 12, 1))),
        reason=st.just("deadline"),
        owner=st.sampled_from(OWNERS),
        environments=st.none() | st.just(("env-0",)),
        guaranteed=st.none() | resources(),
        limit=st.none() | resources(),
        over_quota_weight=st.none() | _weights,
        priority=st.none() | st.integers(0, 200),
    )


@st.composite
def _classes(draw: st.DrawFn, queue_ids: Sequence[str]) -> tuple[PriorityClass, ...]:
    if draw(st.booleans()):
        return DEFAULT_PRIORITY_CLASSES
    names = draw(st.lists(st.sampled_from(("low", "mid", "high", "train", "x" * 70)), unique=True))
    return tuple(
        PriorityClass(
            name=name,
            value=draw(st.integers(-1000, 1_000_000_000)),
            preemptible=draw(st.none() | st.booleans()),
            queues=draw(st.none() | _some(tuple(queue_ids))),
            global_default=number == 0 and draw(st.booleans()),
            description=draw(st.none() | st.just("A tier: #1")),
        )
        for number, name in enumerate(names)
    )


def _pool(id_: str) -> st.SearchStrategy[NodePool]:
    strategies = st.sampled_from((BINPACK, SPREAD))
    return st.builds(
        _node_pool,
        st.just(id_),
        st.integers(1, 16),
        st.none() | st.builds(Placement, gpu=strategies, cpu=strategies),
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
    clusters = tuple(draw(_cluster(f"c-{n}", pools, engine)) for n in range(draw(st.integers(1, 2))))
    overrides = draw(
        st.lists(
            st.builds(
                QueueOverride,
                queue=st.sampled_from(list(ids)),
                guaranteed=st.none() | resources(),
                limit=st.none() | resources(),
                priority=st.none() | st.integers(0, 200),
                preempt_min_runtime=st.none() | _durations,
            ),
            max_size=2,
        )
    )
    return Environment(name=name, clusters=clusters, overrides=tuple(overrides))


@st.composite
def _cluster(draw: st.DrawFn, name: str, pools: tuple[NodePool, ...], only: str | None) -> Cluster:
    engine = draw(st.sampled_from([Engine(name) for name in BACKENDS if only in (None, name)]))
    strategies = st.sampled_from((BINPACK, SPREAD))
    return Cluster(
        name=name,
        engine=engine,
        engine_version=minor_text(TRAITS[engine.value].versions.newest or TRAITS[engine.value].versions.oldest),
        pools=draw(_some(tuple(pool.id for pool in pools))),
        share=draw(st.sampled_from(("1", "1/3", "50%"))),
        placement=draw(st.builds(Placement, gpu=strategies, cpu=strategies)),
        topologies=draw(
            st.sampled_from(((), (Topology(name="racks", levels=("example.com/rack", "kubernetes.io/hostname")),)))
        ),
        kai=draw(
            st.builds(
                KaiSettings,
                k_value=st.none() | st.sampled_from((0, 1, "0.5", "2.125")),
                preempt_min_runtime=st.none() | _durations,
                reclaim_min_runtime=st.none() | _durations,
                queue_depth_per_action=st.sampled_from(({}, {"reclaim": 8, "allocate": 25})),
                max_consolidation_preemptees=st.none() | st.integers(0, 40),
                gpu_sharing=st.none() | st.booleans(),
                emit_installed_priority_classes=st.booleans(),
                full_hierarchy_fairness=st.booleans(),
                scheduler_name=st.sampled_from(("kai-scheduler", "team-scheduler")),
                live_scheduler=st.none()
                | st.builds(LiveScheduler, reservation_image=st.none() | st.just("registry/resourcereservation:v1")),
            )
        ),
    )
