"""How Volcano's scheduler is configured: its actions, and its plugins in tiers.

Source: pkg/scheduler/conf/scheduler_conf.go, pkg/scheduler/util.go, pkg/scheduler/plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from apportion_runtime.admission.objects import name_of
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.snapshots.yaml_bounds import check_bounds

CONFIG_MAP = "volcano-scheduler-configmap"
_FILE = "volcano-scheduler.conf"
_ACTIONS = ("enqueue", "allocate", "backfill", "preempt", "reclaim")
_PLUGINS = frozenset(
    ("priority", "gang", "conformance", "capacity", "predicates", "nodeorder", "resource-strategy-fit", "binpack")
)


class ConfigurationError(UnreadableError):
    """A configuration that cannot be read, or that enables what has no model."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin, and what of it is off (`enablePreemptable: false` and its like)."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    off: frozenset[str] = frozenset()

    def does(self, what: str) -> bool:
        """Tell whether a part of it is on, by the part's name."""
        return what not in self.off


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is on, in order."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[Plugin, ...], ...]

    def plugin(self, name: str) -> Plugin | None:
        """Return a plugin, None where it is off."""
        return next((plugin for tier in self.tiers for plugin in tier if plugin.name == name), None)

    @property
    def plugins(self) -> Sequence[Plugin]:
        """All plugins in order."""
        return [plugin for tier in self.tiers for plugin in tier]

    @property
    def has_hierarchy(self) -> bool:
        """Whether queues form a tree."""
        capacity = self.plugin("capacity")
        return capacity is not None and "Hierarchy" not in capacity.off


def read_configuration(objects: Iterable[Mapping[str, Any]]) -> Configuration:
    """Return the configuration among objects.

    Raises:
        ConfigurationError: If there is none, it cannot be read, or it enables what is not simulated.
    """
    found = next((made for made in objects if name_of(made) == CONFIG_MAP), None)
    if found is None:
        raise ConfigurationError(
            f"there is no ConfigMap {CONFIG_MAP}: without it Volcano divides resources by the plugin proportion, "
            "which is not simulated"
        )
    text = (found.get("data") or {}).get(_FILE) or ""
    try:
        check_bounds(text)
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as wrong:
        raise ConfigurationError(f"ConfigMap {CONFIG_MAP}: {str(wrong).replace(chr(10), ' ')}") from None
    if not isinstance(document, Mapping):
        raise ConfigurationError(f"ConfigMap {CONFIG_MAP}: its {_FILE} is not a mapping with actions and tiers")
    return _checked(
        Configuration(
            tuple(name.strip() for name in str(document.get("actions") or "").split(",") if name.strip()),
            tuple(tuple(_plugin(each) for each in tier.get("plugins") or ()) for tier in document.get("tiers") or ()),
        )
    )


def _plugin(written: Mapping[str, Any]) -> Plugin:
    # Hierarchy alone is off unless it is said to be on.
    off = {key.removeprefix("enable") for key, value in written.items() if key.startswith("enable") and value is False}
    if not written.get("enableHierarchy"):
        off.add("Hierarchy")
    return Plugin(str(written.get("name")), written.get("arguments") or {}, frozenset(off))


def _checked(made: Configuration) -> Configuration:
    for action in made.actions:
        if action not in _ACTIONS:
            raise ConfigurationError(f"Volcano's action {action} is not simulated; choose one of {', '.join(_ACTIONS)}")
    for plugin in made.plugins:
        if plugin.name not in _PLUGINS:
            known = ", ".join(sorted(_PLUGINS))
            raise ConfigurationError(f"Volcano's plugin {plugin.name} is not simulated; choose one of {known}")
    if made.plugin("capacity") is None:
        raise ConfigurationError("Volcano without its plugin capacity is not simulated")
    capacity = made.plugin("capacity")
    if capacity is not None and capacity.arguments.get("ancestorReclaimLevel"):
        raise ConfigurationError("the argument ancestorReclaimLevel of Volcano's plugin capacity is not simulated")
    return made
