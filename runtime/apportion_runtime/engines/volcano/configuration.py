"""The configuration of Volcano's scheduler: its actions, and its plugins in tiers.

Source: pkg/scheduler/conf/scheduler_conf.go, pkg/scheduler/util.go, pkg/scheduler/plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from apportion_api.fields import Fields
from apportion_api.objects import read_fields
from apportion_api.volcano.configuration import SCHEDULER_CONFIG_MAP, SCHEDULER_KEY, SchedulerConfiguration
from apportion_runtime.admission.objects import name_of
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.snapshots.yaml_bounds import check_bounds

_ACTIONS = ("enqueue", "allocate", "backfill", "preempt", "reclaim")
_PLUGINS = frozenset(
    (
        "priority",
        "gang",
        "conformance",
        "capacity",
        "predicates",
        "nodegroup",
        "nodeorder",
        "resource-strategy-fit",
        "binpack",
    )
)


_SIMULATED_ONLY_ENABLED = {
    "priority": frozenset(("enableTaskOrder",)),
    "gang": frozenset(("enableJobReady", "enableJobPipelined", "enabledSubJobReady", "enabledSubJobPipelined")),
    "capacity": frozenset(("enableQueueOrder", "enablePreemptive", "enabledAllocatable", "enableJobEnqueued")),
    "predicates": frozenset(("enablePredicate",)),
    "nodegroup": frozenset(("enablePredicate", "enableNodeOrder")),
    "nodeorder": frozenset(("enableNodeOrder",)),
    "resource-strategy-fit": frozenset(("enableNodeOrder",)),
    "binpack": frozenset(("enableNodeOrder",)),
}
"""Switches of functions that a plugin registers and whose absence is not simulated.

Source: `ssn.Add…Fn` in pkg/scheduler/plugins, and `isEnabled` in framework/session_plugins.go.
"""


class ConfigurationError(UnreadableError):
    """An invalid configuration, or one that enables features that are not simulated."""


def read_configuration(objects: Iterable[Mapping[str, Any]]) -> SchedulerConfiguration:
    """Return the configuration among objects.

    Raises:
        ConfigurationError: If it is missing or invalid, or enables features that are not simulated.
    """
    found = written_configuration(objects)
    if found is None:
        raise ConfigurationError(
            f"ConfigMap {SCHEDULER_CONFIG_MAP} does not exist: without it, Volcano divides resources with the proportion plugin, "
            "which is not simulated"
        )
    return _checked(found)


def written_configuration(objects: Iterable[Mapping[str, Any]]) -> SchedulerConfiguration | None:
    """Return the configuration among objects, without checking what it enables; None if there is none.

    Raises:
        ConfigurationError: If it is invalid.
    """
    found = next((made for made in objects if name_of(made) == SCHEDULER_CONFIG_MAP), None)
    if found is None:
        return None
    text = (found.get("data") or {}).get(SCHEDULER_KEY) or ""
    try:
        check_bounds(text)
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as wrong:
        raise ConfigurationError(f"ConfigMap {SCHEDULER_CONFIG_MAP}: {str(wrong).replace(chr(10), ' ')}") from None
    if not isinstance(document, Mapping):
        raise ConfigurationError(
            f"ConfigMap {SCHEDULER_CONFIG_MAP}: {SCHEDULER_KEY} is not a mapping with actions and tiers"
        )
    fields = Fields(document)
    made = read_fields(SchedulerConfiguration, fields)
    if fields.faults:
        raise ConfigurationError(f"ConfigMap {SCHEDULER_CONFIG_MAP}: {fields.faults[0]}")
    return made


_SELECTING = {
    "Preemptable": frozenset(("priority", "gang", "conformance")),
    "Reclaimable": frozenset(("gang", "conformance", "capacity")),
}
_PASSIVE = frozenset(
    ("predicates", "nodeorder", "binpack", "overcommit", "resource-strategy-fit", "nodegroup", "network-topology-aware")
)
"""Plugins that select no victims."""


def is_decided_by(made: SchedulerConfiguration, plugin: str, function: str) -> bool:
    """Return whether a plugin alone can prevent every eviction, regardless of other plugins.

    A tier whose plugins return no victims leaves the choice to the next one, so there must be a single tier that
    selects victims. Upstream treats an empty intersection as undecided, so the next plugin decides again
    (framework/session_plugins.go, Preemptable and Reclaimable): the plugin must be the last, or the first of two.

    Args:
        made: The configuration. An unknown plugin is assumed to select victims.
        plugin: The plugin.
        function: `Preemptable` or `Reclaimable`.
    """
    known = _SELECTING["Preemptable"] | _SELECTING["Reclaimable"]
    tiers = [
        [
            each.name
            for each in tier.plugins
            if each.does(function)
            and each.name not in _PASSIVE
            and (each.name in _SELECTING[function] or each.name not in known)
        ]
        for tier in made.tiers
    ]
    tiers_with_plugin = [names for names in tiers if names]
    if len(tiers_with_plugin) != 1 or plugin not in tiers_with_plugin[0]:
        return False
    names = tiers_with_plugin[0]
    return names[-1] == plugin or (names[0] == plugin and len(names) == 2)


def _checked(made: SchedulerConfiguration) -> SchedulerConfiguration:
    for action in made.actions:
        if action not in _ACTIONS:
            raise ConfigurationError(
                f"Volcano's {action} action is not simulated; simulated actions are {', '.join(_ACTIONS)}"
            )
    for plugin in made.plugins:
        if plugin.name not in _PLUGINS:
            known = ", ".join(sorted(_PLUGINS))
            raise ConfigurationError(f"Volcano's {plugin.name} plugin is not simulated; simulated plugins are {known}")
        off = sorted(plugin.switched_off & _SIMULATED_ONLY_ENABLED.get(plugin.name, frozenset()))
        if off:
            raise ConfigurationError(f"{off[0]}: false of Volcano's {plugin.name} plugin is not simulated")
    if made.plugin("capacity") is None:
        raise ConfigurationError("Volcano cannot be simulated without the capacity plugin")
    return made
