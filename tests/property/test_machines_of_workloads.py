"""Work runs only on pools that its queue may use, within one domain of a required level, and as a whole or not at all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_api.kai.names import REQUIRED_LEVEL_ANNOTATION, TOPOLOGY_ANNOTATION
from apportion_policy import Accelerator, NodePool, Topology

from .shared_clusters import (
    ALL_ENGINES,
    CORES,
    H100,
    UNITS_PER_NODE,
    Jobs,
    Simulated,
    Team,
    Teams,
    shared_teams,
    simulated,
)

pytestmark = pytest.mark.property

WITH_POOLS = ("volcano",)
WITH_TOPOLOGY = ("kai",)
EVICTED_AS_A_WHOLE = ("kai", "kueue")
"""Engines that evict all pods of a workload. Others evict single pods, so that a part of a workload may run on."""
GANGS_END_S = 300.0
"""Before YuniKorn gives up the placeholders of a gang, after 15 minutes."""
POOLS = tuple(
    NodePool(
        id=model,
        accelerator=Accelerator(model=model, count=UNITS_PER_NODE),
        cpu=UNITS_PER_NODE * CORES,
        memory="1Ti",
        min_nodes=0,
        max_nodes=1,
    )
    for model in ("a100", "h100", "l40s")
)
LEVELS = ("example.com/block", "example.com/rack")
RACKS = Topology(name="racks", levels=LEVELS)
NODES = tuple(dict(zip(LEVELS, place, strict=True)) for place in (("a", "a1"), ("a", "a1"), ("a", "a2"), ("b", "b1")))


def _nodes_of_jobs(cluster: Simulated) -> Mapping[str, Counter[str]]:
    """Return the number of bound pods of each workload on each node."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in cluster.cluster.cluster_state.pods.values():
        if pod.is_bound and not pod.leaving:
            found[cluster.cluster.cluster_state.history.workloads[pod.workload].name][str(pod.record.node)] += 1
    return found


@st.composite
def teams_with_pools(draw: st.DrawFn) -> Teams:
    """Draw queues each of which may use some pools."""
    return tuple(
        Team(
            f"team-{letter}",
            settings={"pools": tuple(sorted(draw(st.sets(st.sampled_from([pool.id for pool in POOLS]), min_size=1))))},
            jobs=(Jobs(draw(st.integers(0, 3 * UNITS_PER_NODE)), draw(st.sampled_from((0.0, 60.0)))),),
        )
        for letter in "abc"[: draw(st.integers(1, 3))]
    )


def check_pools(engine: str, teams: Teams) -> None:
    """Check that work runs only on allowed pools, and waits only if they are full."""
    cluster = simulated(engine, teams, pools=POOLS)
    held = cluster.run()
    used: Counter[str] = Counter()
    allowed = {team.name: team.settings["pools"] for team in teams}
    for name, nodes in _nodes_of_jobs(cluster).items():
        pools = {node.rpartition("-")[0] for node in nodes}
        assert pools <= set(allowed[name.split(".")[0]])
        used.update(pools)
    waiting = [team.name for team in teams if held[team.name] < team.wanted]
    assert not [(name, pool) for name in waiting for pool in allowed[name] if used[pool] < UNITS_PER_NODE]


@st.composite
def gangs(draw: st.DrawFn, annotations: st.SearchStrategy[Mapping[str, str]]) -> Teams:
    """Draw a tree of queues without limits whose jobs have several pods."""
    return tuple(_gangs(draw, team, annotations) for team in draw(shared_teams()))


def _gangs(draw: st.DrawFn, team: Team, annotations: st.SearchStrategy[Mapping[str, str]]) -> Team:
    jobs = tuple(
        Jobs(draw(st.integers(0, 3)), draw(st.sampled_from((0.0, 60.0))), kind=f"of{n}", pods=n, annotations=drawn)
        for n in (2, 3, 5)
        for drawn in (draw(annotations),)
    )
    return replace(
        team,
        limit=None,
        jobs=() if team.children else jobs,
        children=tuple(_gangs(draw, child, annotations) for child in team.children),
    )


def check_gangs(engine: str, teams: Teams) -> None:
    """Check that in the end all pods of a job run or none, and that some run."""
    cluster = simulated(engine, teams, ends_s=GANGS_END_S)
    held = cluster.run()
    assert sum(held[top.name] for top in teams) or not sum(top.wanted for top in teams)
    running = {name: sum(nodes.values()) for name, nodes in _nodes_of_jobs(cluster).items()}
    if engine not in EVICTED_AS_A_WHOLE:
        running = {name: number for name, number in running.items() if name not in cluster.evicted}
    assert running == {name: int(name.split(".")[2].removeprefix("of")) for name in running}


def topology_annotations() -> st.SearchStrategy[Mapping[str, str]]:
    """Draw the annotations of a workload that requires a level of the topology, or none."""
    some = st.sampled_from(LEVELS).map(
        lambda level: {TOPOLOGY_ANNOTATION: RACKS.name, REQUIRED_LEVEL_ANNOTATION: level}
    )
    return st.just({}) | some


def check_topology(engine: str, teams: Teams) -> None:
    """Check in each state that the pods of a job share a domain of the level that it requires."""
    required = {
        f"{leaf.name}.{jobs.name}": jobs.annotations[REQUIRED_LEVEL_ANNOTATION]
        for top in teams
        for leaf in top.leaves()
        for jobs in leaf.jobs
        if jobs.annotations
    }
    pool = H100.model_copy(update={"topology": RACKS.name, "max_nodes": len(NODES)})
    names = [{**labels, "example.com/node": str(number)} for number, labels in enumerate(NODES)]
    cluster = simulated(engine, teams, pools=(pool,), labels_of_nodes=names, ends_s=GANGS_END_S, topologies=(RACKS,))

    def within_domains(held: dict[str, int]) -> None:
        for name, nodes in _nodes_of_jobs(cluster).items():
            level = required.get(name.rpartition(".")[0])
            if level is not None:
                # The names of nodes consist of the pool and the labels.
                assert len({tuple(node.split("-")[1 : LEVELS.index(level) + 2]) for node in nodes}) == 1

    held = cluster.run(within_domains)
    assert sum(held[top.name] for top in teams) or not sum(top.wanted for top in teams)


@pytest.mark.parametrize("engine", WITH_POOLS)
@settings(max_examples=2, derandomize=True)
@given(teams=teams_with_pools())
def test_work_runs_on_allowed_pools(engine: str, teams: Teams) -> None:
    check_pools(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", WITH_POOLS)
@settings(max_examples=12, derandomize=True)
@given(teams=teams_with_pools())
def test_work_of_many_policies_runs_on_allowed_pools(engine: str, teams: Teams) -> None:
    check_pools(engine, teams)


@pytest.mark.parametrize("engine", WITH_TOPOLOGY)
@settings(max_examples=2, derandomize=True)
@given(teams=gangs(topology_annotations()))
def test_pods_share_a_domain_of_the_required_level(engine: str, teams: Teams) -> None:
    check_topology(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", WITH_TOPOLOGY)
@settings(max_examples=12, derandomize=True)
@given(teams=gangs(topology_annotations()))
def test_pods_of_many_policies_share_a_domain_of_the_required_level(engine: str, teams: Teams) -> None:
    check_topology(engine, teams)


@pytest.mark.parametrize("engine", ALL_ENGINES)
@settings(max_examples=2, derandomize=True)
@given(teams=gangs(st.just({})))
def test_jobs_run_as_a_whole_or_not_at_all(engine: str, teams: Teams) -> None:
    check_gangs(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ALL_ENGINES)
@settings(max_examples=12, derandomize=True)
@given(teams=gangs(st.just({})))
def test_jobs_of_many_policies_run_as_a_whole_or_not_at_all(engine: str, teams: Teams) -> None:
    check_gangs(engine, teams)
