"""Scenarios with more nodes than they describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.format import Pool, Scenario


def with_added_nodes(scenario: Scenario, added: Mapping[str, int]) -> Scenario:
    """Return a scenario with more nodes of some pools of the policy, or a higher maximum if a pool scales.

    Raises:
        ScenarioError: If the scenario has no nodes of such a pool, or they are created only for provisioning requests.
    """
    pools = list(scenario.pools)
    for name, n_nodes in added.items():
        index = next((index for index, pool in enumerate(pools) if pool.policy_pool == name), None)
        if index is None:
            raise ScenarioError(f"nodes: no entry uses node pool {name}; add one with `policy_pool: {name}`")
        pools[index] = _enlarged(pools[index], n_nodes)
    return replace(scenario, pools=tuple(pools))


def _enlarged(pool: Pool, n_nodes: int) -> Pool:
    if pool.queued is not None:
        raise ScenarioError(
            f"nodes: node pool {pool.policy_pool} gets its nodes from provisioning requests, so its size cannot be varied"
        )
    if pool.scales:
        return replace(pool, most=pool.most + n_nodes)
    return replace(pool, size=pool.size + n_nodes, least=pool.least + n_nodes, most=pool.most + n_nodes)
