"""A sample of a large load, on which quotas are chosen before they are simulated with the whole load.

Of jobs and nodes, every so many are kept, and the shares of the cluster are divided by the same number, so that queues
compete as in the whole load. Large gangs find relatively fewer nodes than there, and quotas are rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from apportion_policy.policy import Policy
from apportion_review.advise.problem import Problem
from apportion_runtime.sim.scenario.format import Manifest, Scenario

_N_JOBS = 10_000
_LEAST_NODES, _LEAST_GPUS = 50, 8
"""Nodes of a sample, and GPUs of its smallest quota, below which it says little about the whole load."""


def sample_interval(scenario: Scenario, problem: Problem) -> int:
    """Return one of how many jobs and nodes a sample has, so that it has about 10,000 jobs; 1 if none is needed."""
    n_nodes = sum(pool.size for pool in scenario.pools)
    n_nodes += sum(bool(made["kind"] == "Node") for made in scenario.objects)
    smallest = min((variable.present for variable in problem.variables if variable.present), default=0)
    return max(1, min(len(scenario.works) // _N_JOBS, n_nodes // _LEAST_NODES, smallest // _LEAST_GPUS))


def sampled_scenario(scenario: Scenario, interval: int) -> Scenario:
    """Return a scenario with one of every `interval` workloads, in the order of their arrival, and nodes of each kind."""
    works = sorted(scenario.works, key=lambda work: work.arrives_s)[::interval]
    pools = tuple(
        replace(pool, size=-(-pool.size // interval), least=-(-pool.least // interval), most=-(-pool.most // interval))
        for pool in scenario.pools
    )
    return replace(scenario, works=tuple(works), pools=pools, objects=tuple(_objects(scenario.objects, interval)))


def _objects(objects: Iterable[Manifest], interval: int) -> Iterable[Manifest]:
    """Yield objects without most of the nodes; of those with the same resources, the first is kept."""
    n_alike: dict[str, int] = {}
    for made in objects:
        if made["kind"] == "Node":
            shape = repr(sorted(made.get("status", {}).get("allocatable", {}).items()))
            n_alike[shape] = n_alike.get(shape, -1) + 1
            if n_alike[shape] % interval:
                continue
        yield made


def sampled_policy(policy: Policy, environment: str, cluster: str, interval: int) -> Policy:
    """Return a policy in which a cluster has a smaller share of the guarantees and limits."""
    environments = tuple(
        each.model_copy(
            update={
                "clusters": tuple(
                    known.model_copy(update={"share": str(Fraction(known.share) / interval)})
                    if known.name == cluster
                    else known
                    for known in each.clusters
                )
            }
        )
        if each.name == environment
        else each
        for each in policy.environments
    )
    return policy.model_copy(update={"environments": environments})
