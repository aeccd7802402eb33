"""Random policies of a shared cluster, compiled for an engine and simulated under more demand than the cluster has.

A job is one pod with one unit of a resource, unless it says otherwise, so that whatever a queue may use can be used:
what differs from the meaning of the policy is a decision of the engine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st
from tests.engine_lists import engines_except
from tests.unit.review.fit_clusters import START, VERSIONS, compiled, job

from apportion_api.kai.names import GPU_FRACTION_ANNOTATION
from apportion_cli.fit_inputs import model_of
from apportion_compiler.bindings.bind import adopt
from apportion_compiler.bindings.options import Options
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.program import Program
from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
)
from apportion_runtime.sim.cluster import Cluster as SimulatedCluster
from apportion_runtime.sim.scenario.format import NodeShape, Pool, Scenario, Timing, Work

ALL_ENGINES = engines_except(native="it has neither guarantees nor gangs")
N_NODES = 2
UNITS_PER_NODE = 8
GRACE_S = {"volcano": 0.0}
"""Grace periods other than 30 seconds: Volcano evicts queues below their guarantee while pods terminate."""
CAPACITY = N_NODES * UNITS_PER_NODE
SETTLED_S = 1800.0
"""Long enough for every delay of an engine: Koordinator revokes after two minutes, YuniKorn preempts after 30 seconds."""
ENDS_S = {"volcano": 300.0}
"""Ends other than that: Volcano decides every second, and may evict and bind the same pods in turn without end."""
LOW, HIGH, KEPT = "low", "high", "kept"
CLASSES = (
    PriorityClass(name=KEPT, value=120, preemptible=False),
    PriorityClass(name=HIGH, value=90, preemptible=True),
    PriorityClass(name=LOW, value=50, preemptible=True),
)
HALF_GPU, GPU_AND_CPU = "half-gpu", "gpu-and-cpu"
"""Units other than one of a resource: half of a GPU, and a GPU or `CORES`, of which a queue has the same amounts."""
CORES = 12
_JOB = "job-of-a-team"
_GPU = "nvidia.com/gpu"
H100 = NodePool(
    id="h100",
    accelerator=Accelerator(model="h100", count=UNITS_PER_NODE),
    cpu=UNITS_PER_NODE * CORES,
    memory="1Ti",
    min_nodes=0,
    max_nodes=N_NODES,
)
TWO_MODELS = tuple(
    H100.model_copy(
        update={"id": model, "accelerator": Accelerator(model=model, count=UNITS_PER_NODE), "max_nodes": N_NODES // 2}
    )
    for model in ("a100", "h100")
)
"""As many GPUs of two models, on one node each."""


@dataclass(frozen=True)
class Jobs:
    """Jobs of a queue that arrive a tenth of a second after one another.

    Attributes:
        kind: A part of the names of jobs that differ from others, by which their pods are counted.
        pods: Of each job, which start together or not at all.
        requests: Of each pod; by default a unit of the resource, and 4 cores.
        annotations: Of each job.
    """

    number: int
    arrives_s: float = 0.0
    priority: str = LOW
    kind: str = ""
    pods: int = 1
    requests: Mapping[str, str] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The part of the names of the jobs between those of the queue and the number of the job."""
        return f"{self.priority}.{self.kind}" if self.kind else self.priority


@dataclass(frozen=True)
class Team:
    """A queue, with children or jobs. Amounts are units of the resource; None is unset."""

    name: str
    guaranteed: int | None = 0
    limit: int | None = None
    children: tuple[Team, ...] = ()
    jobs: tuple[Jobs, ...] = ()
    n_namespaces: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of a leaf, between which its jobs alternate."""
        return () if self.children else tuple(f"{self.name}-{number}" for number in range(self.n_namespaces))

    @property
    def wanted(self) -> int:
        """The units that the demand below this queue can use within all limits."""
        below = sum(child.wanted for child in self.children) if self.children else sum(j.number for j in self.jobs)
        return below if self.limit is None else min(below, self.limit)

    @property
    def requested(self) -> int:
        """The units that the jobs below this queue request, within its own limit."""
        requested = sum(jobs.number for leaf in self.leaves() for jobs in leaf.jobs)
        return requested if self.limit is None else min(requested, self.limit)

    def all(self) -> Iterator[Team]:
        """Yield this queue and all below it."""
        yield self
        for child in self.children:
            yield from child.all()

    def leaves(self) -> Iterator[Team]:
        """Yield the queues with jobs."""
        return (team for team in self.all() if not team.children)


Teams = tuple[Team, ...]


def groups_of(teams: Teams, held: Mapping[str, int]) -> Iterator[tuple[int, Teams]]:
    """Yield each group of siblings with what they hold together."""
    yield sum(held[team.name] for team in teams), teams
    for team in teams:
        if team.children:
            yield from groups_of(team.children, held)


def policy_of(
    engine: str, teams: Teams, resource: str = "gpu", *, pools: Sequence[NodePool] = (H100,), **more: Any
) -> Policy:
    """Return the policy of one cluster, by default with two nodes of eight GPUs."""
    versions: dict[str, Any] = {"engine_version": VERSIONS[engine], "kubernetes_version": "1.34.0"}
    return Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        node_pools=tuple(pools),
        queues=tuple(_queue(team, resource) for team in teams),
        priority_classes=CLASSES,
        environments=(
            Environment(
                name="prod",
                clusters=(Cluster(name="c", engine=Engine(engine), pools=tuple(pools), **versions, **more),),
            ),
        ),
    )


def _queue(team: Team, resource: str) -> Queue:
    return Queue(
        id=team.name,
        owner=f"@acme/{team.name}",
        namespaces=team.namespaces,
        guaranteed=None if team.guaranteed is None else units(resource, team.guaranteed),
        limit=None if team.limit is None else units(resource, team.limit),
        children=tuple(_queue(child, resource) for child in team.children),
        **team.settings,
    )


def units(resource: str, amount: int) -> Resources:
    """Return an amount of GPUs, of GPUs and cores, or of an extended resource."""
    if resource == HALF_GPU:
        return Resources(gpu=str(amount / 2))
    if resource == GPU_AND_CPU:
        return Resources(gpu=amount, cpu=amount * CORES)
    return Resources(gpu=amount) if resource == "gpu" else Resources(extended={resource: amount})


@dataclass
class Simulated:
    """A simulated cluster, and how many pods run in each queue."""

    cluster: SimulatedCluster
    teams: Teams

    def held(self, part: str = "") -> dict[str, int]:
        """Return the number of running pods of each queue with those below it, of one priority class or kind, or all."""
        pods = self.cluster.cluster_state.pods.values()
        running = Counter(
            pod.namespace for pod in pods if pod.is_bound and not pod.leaving and (not part or f".{part}." in pod.name)
        )
        return {
            team.name: sum(running[name] for leaf in team.leaves() for name in leaf.namespaces)
            for top in self.teams
            for team in top.all()
        }

    def run(self, check: Callable[[dict[str, int]], None] = lambda held: None) -> dict[str, int]:
        """Run until nothing happens, checking each state; return what runs at the end."""
        while self.cluster.step():
            check(self.held())
        return self.held()

    @property
    def evicted(self) -> list[str]:
        """The names of the jobs of which a pod was evicted."""
        return [fact.workload for fact in self.cluster.cluster_state.history.facts if fact.what == "evicted"]


def simulated(
    engine: str,
    teams: Teams,
    resource: str = "gpu",
    *,
    names_queue: bool = True,
    grace_s: float | None = None,
    ends_s: float | None = None,
    pools: Sequence[NodePool] = (H100,),
    labels_of_nodes: Sequence[Mapping[str, str]] = (),
    **more: Any,
) -> Simulated:
    """Return the cluster of a policy, on which every queue submits its jobs, which may leave the queue to the namespace.

    With labels of nodes, the only pool has a node with each of them.
    """
    made = compiled(policy_of(engine, teams, resource, pools=pools, **more))
    works = [
        work
        for top in teams
        for leaf in top.leaves()
        for jobs in leaf.jobs
        for work in _works(made.program, leaf, jobs, resource, names_queue=names_queue)
    ]
    found = [
        _pool(pool, made.shapes[pool.id], resource, labels) for pool in pools for labels in labels_of_nodes or ({},)
    ]
    timing = Timing(grace_s=GRACE_S.get(engine, 30.0) if grace_s is None else grace_s)
    scenario = Scenario(
        pools=tuple(found),
        works=tuple(works),
        timing=timing,
        start=START,
        until_s=ENDS_S.get(engine, SETTLED_S) if ends_s is None else ends_s,
    )
    return Simulated(SimulatedCluster([dict(one) for one in made.objects], scenario, model_of(engine)), teams)


def _pool(pool: NodePool, shape: NodeShape, resource: str, labels: Mapping[str, str]) -> Pool:
    """Return the nodes of a pool, or its only node with some labels, which its name has."""
    held = {**shape.allocatable, "cpu": str(UNITS_PER_NODE * CORES)}
    if "/" in resource:
        held[resource] = str(UNITS_PER_NODE)
    size = 1 if labels else pool.max_nodes
    assert size is not None
    name = "-".join((pool.id, *labels.values()))
    return Pool(name, replace(shape, allocatable=held, labels={**shape.labels, **labels}), size, size, size)


def _works(program: Program, leaf: Team, jobs: Jobs, resource: str, *, names_queue: bool) -> Iterator[Work]:
    # Binding is slow: the jobs of a namespace are copies of one.
    bound = [_job(program, leaf, jobs, namespace, resource) for namespace in leaf.namespaces]
    texts = [json.dumps(each if names_queue else _without_queue(each, program.engine)) for each in bound]
    for number in range(jobs.number):
        text = texts[number % len(texts)].replace(_JOB, f"{leaf.name}.{jobs.name}.{number}")
        yield Work(json.loads(text), arrives_s=jobs.arrives_s + number / 10)


def _job(program: Program, leaf: Team, jobs: Jobs, namespace: str, resource: str) -> Mapping[str, Any]:
    metadata = {"name": _JOB, "namespace": namespace, "annotations": dict(jobs.annotations)}
    made: dict[str, Any] = {**job(_JOB, namespace, jobs.pods, 1), "metadata": metadata}
    template = made["spec"]["template"]
    if resource == HALF_GPU:
        template["metadata"] = {"annotations": {GPU_FRACTION_ANNOTATION: "0.5"}}
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    if jobs.requests is not None:
        template["spec"]["containers"][0]["resources"] = {"requests": jobs.requests, "limits": jobs.requests}
    if "/" in resource:
        made = json.loads(json.dumps(made).replace(_GPU, resource))
    return adopt(program, leaf.name, [made], Options(priority_class=jobs.priority)).objects[-1]


def _without_queue(made: Any, engine: str) -> Any:
    """Return a workload without the labels and annotations that name its queue."""
    traits = TRAITS[engine]
    keys = {*traits.queue_labels, *traits.queue_annotations, *traits.workload_keys}
    if isinstance(made, dict):
        return {key: _without_queue(value, engine) for key, value in made.items() if key not in keys}
    return [_without_queue(each, engine) for each in made] if isinstance(made, list) else made


@st.composite
def shared_teams(draw: st.DrawFn, capacity: int = CAPACITY) -> Teams:
    """Draw a tree of two levels whose guarantees fit, with limits, and jobs of the queues that arrive in waves."""
    sizes = draw(
        st.lists(st.integers(0, 3), min_size=1, max_size=3).filter(lambda sizes: sum(map(_n_leaves, sizes)) > 1)
    )
    n_leaves = sum(map(_n_leaves, sizes))
    cuts = sorted(draw(st.lists(st.integers(0, capacity), min_size=n_leaves, max_size=n_leaves)))
    guaranteed = iter([after - before for before, after in zip((0, *cuts), cuts, strict=False)])
    tops: list[Team] = []
    for number, size in enumerate(sizes):
        leaves = [
            draw(_leaf(f"team-{number}{letter}", next(guaranteed), capacity)) for letter in "abc"[: _n_leaves(size)]
        ]
        if not size:
            tops += leaves
            continue
        total = sum(leaf.guaranteed or 0 for leaf in leaves)
        limit = draw(st.none() | st.integers(max(total, 1), capacity + 2))
        below = tuple(
            leaf if limit is None else replace(leaf, limit=min(leaf.limit or limit, limit)) for leaf in leaves
        )
        tops.append(Team(f"department-{number}", total, limit, below))
    return tuple(tops)


def _n_leaves(size: int) -> int:
    return size or 1


@st.composite
def _leaf(draw: st.DrawFn, name: str, guaranteed: int, capacity: int) -> Team:
    return Team(
        name,
        guaranteed,
        draw(st.none() | st.integers(max(guaranteed, 1), capacity + 2)),
        jobs=(Jobs(draw(st.integers(0, capacity)), draw(st.sampled_from((0.0, 60.0, 120.0)))),),
        n_namespaces=draw(st.integers(1, 2)),
    )
