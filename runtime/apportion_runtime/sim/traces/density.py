"""The maximum number of a group's pods on a node, as Kubernetes and KAI Scheduler can express it.

Kubernetes has no such field. kube-scheduler and the engines that run its filters enforce it exactly by a topology spread
constraint over host names: with more `minDomains` than nodes, the smallest count of a domain is taken to be 0, so that
`maxSkew` is the maximum count. KAI Scheduler does not filter by spread: there, it is an extended resource of which each
node has as many as the maximum and each pod requests one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_runtime.sim.scenario.format import Pool, Scenario
from apportion_runtime.sim.traces.records import Density, TraceJob

_PREFIX = "apportion.dev/"
DENSITY_LABEL = f"{_PREFIX}density"
_MOST_DOMAINS = 2**31 - 1


def density_name(density: Density) -> str:
    """Return the name that pods with the same limit share."""
    return f"{density.group}-max-{density.n_per_node}"


def density_resource(density: Density) -> str:
    """Return the extended resource of which a node has as many as pods are allowed."""
    return f"{_PREFIX}{density_name(density)}"


def spread_constraint(density: Density) -> Mapping[str, Any]:
    """Return the topology spread constraint of a pod."""
    return {
        "maxSkew": density.n_per_node,
        "minDomains": _MOST_DOMAINS,
        "topologyKey": HOSTNAME_LABEL,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {DENSITY_LABEL: density_name(density)}},
    }


def with_density_resources(scenario: Scenario, jobs: Iterable[TraceJob]) -> Scenario:
    """Return a scenario in which each node has the extended resources that limit the density of the jobs."""
    amounts = {
        density_resource(density): str(density.n_per_node)
        for density in dict.fromkeys(job.density for job in jobs)
        if density is not None
    }
    if not amounts:
        return scenario
    return replace(
        scenario,
        pools=tuple(_pool(pool, amounts) for pool in scenario.pools),
        objects=tuple(_object(made, amounts) for made in scenario.objects),
        incidents=tuple(
            replace(incident, makes=tuple(_object(made, amounts) for made in incident.makes))
            for incident in scenario.incidents
        ),
    )


def _pool(pool: Pool, amounts: Mapping[str, str]) -> Pool:
    shape = replace(pool.shape, allocatable={**pool.shape.allocatable, **amounts})
    return replace(pool, shape=shape)


def _object(made: Mapping[str, Any], amounts: Mapping[str, str]) -> Mapping[str, Any]:
    if made.get("kind") != "Node":
        return made
    status = made.get("status") or {}
    return {**made, "status": {**status, "allocatable": {**(status.get("allocatable") or {}), **amounts}}}
