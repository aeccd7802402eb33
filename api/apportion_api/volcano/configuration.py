"""The configuration of Volcano's scheduler: its actions, and its plugins in tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_api.fields import Fields
from apportion_api.objects import derived, each, mapping, mappings, text

SCHEDULER_CONFIG_MAP = "volcano-scheduler-configmap"
SCHEDULER_KEY = "volcano-scheduler.conf"


def _written_off(plugin: Fields) -> frozenset[str]:
    return frozenset(key for key, value in plugin.written.items() if key.startswith("enable") and value is False)


def _switched_off(plugin: Fields) -> frozenset[str]:
    off = {key.removeprefix("enable") for key in _written_off(plugin)}
    # Only hierarchy is off by default.
    return frozenset(off if plugin.flag("enableHierarchy") else {*off, "Hierarchy"})


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin, and its disabled functions (`enablePreemptable: false` and others)."""

    name: str | None = text("name")
    arguments: Mapping[str, Any] = mapping("arguments")
    off: frozenset[str] = derived(_switched_off, frozenset({"Hierarchy"}))
    switched_off: frozenset[str] = derived(_written_off, frozenset())
    """Switches with the value false, as written; some begin with `enabled`."""

    def does(self, what: str) -> bool:
        """Return whether a function is enabled."""
        return what not in self.off


@dataclass(frozen=True, slots=True)
class Tier:
    """Plugins of the same tier."""

    plugins: tuple[Plugin, ...] = each("plugins", Plugin)


def _actions(fields: Fields) -> tuple[str, ...]:
    return tuple(action.strip() for action in (fields.text("actions") or "").split(",") if action.strip())


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """Actions and tiers in order."""

    actions: tuple[str, ...] = derived(_actions, ())
    tiers: tuple[Tier, ...] = each("tiers", Tier)
    configurations: tuple[Mapping[str, Any], ...] = mappings("configurations")
    """Arguments of actions."""

    @property
    def plugins(self) -> Sequence[Plugin]:
        """All plugins in order."""
        return [plugin for tier in self.tiers for plugin in tier.plugins]

    @property
    def has_hierarchy(self) -> bool:
        """Whether queues form a tree."""
        capacity = self.plugin("capacity")
        return capacity is not None and capacity.does("Hierarchy")

    @property
    def ancestor_level(self) -> int:
        """The number of ancestor levels that reclaim also checks; 0 if it is not an integer, as in Volcano."""
        capacity = self.plugin("capacity")
        written = None if capacity is None else capacity.arguments.get("ancestorReclaimLevel")
        return max(written, 0) if type(written) is int else 0

    def plugin(self, name: str) -> Plugin | None:
        """Return a plugin; None if it is disabled."""
        return next((plugin for tier in self.tiers for plugin in tier.plugins if plugin.name == name), None)
