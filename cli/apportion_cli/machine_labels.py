"""Labels of a scenario's machines that are derived from the scenario's objects.

A ResourceFlavor lists the labels of its pools' nodes, and Kueue adds all of them to node selectors. A scenario need not
repeat them: the nodes of a pool get the labels of the flavor, and those of the scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apportion_api.kueue.names import GROUP
from apportion_compiler.backends.metadata import GROUP as APPORTION
from apportion_compiler.engines.kueue.emit.flavors import POOLS_ANNOTATION
from apportion_compiler.plain_objects import annotations_of, mapping, of_kind
from apportion_compiler.pool_label_keys import POOL_LABEL

if TYPE_CHECKING:
    from apportion_runtime.sim.scenario.format import Pool, Scenario


def with_flavor_labels(scenario: Scenario, objects: Iterable[Mapping[str, Any]]) -> Scenario:
    """Return a scenario whose nodes have the labels of their flavors; labels set by the scenario take precedence."""
    flavors = [
        (frozenset(annotations_of(made).get(POOLS_ANNOTATION, "").split(",")), _labels(made))
        for made in of_kind(tuple(objects), GROUP, "ResourceFlavor")
    ]
    if not any(labels for _, labels in flavors):
        return scenario
    return replace(scenario, pools=tuple(_labelled(pool, flavors) for pool in scenario.pools))


def _labelled(pool: Pool, flavors: Iterable[tuple[frozenset[str], Mapping[str, str]]]) -> Pool:
    own = {POOL_LABEL: pool.name, **pool.shape.labels}
    for pools, labels in flavors:
        marks = {key: value for key, value in labels.items() if key.startswith(f"{APPORTION}/")}
        if own[POOL_LABEL] in pools or (marks and marks.items() <= own.items()):
            return replace(pool, shape=replace(pool.shape, labels={**labels, **pool.shape.labels}))
    return pool


def _labels(flavor: Mapping[str, Any]) -> Mapping[str, str]:
    return {key: str(value) for key, value in mapping(flavor, "spec", "nodeLabels").items()}
