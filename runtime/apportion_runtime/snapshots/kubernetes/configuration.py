"""The configuration of the engine: its defaults, a SchedulingShard, or its own dump.

Source: pkg/apis/kai/v1/schedulingshard_types.go, pkg/operator/operands/scheduler, pkg/scheduler/conf,
cmd/scheduler/app/options/options.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apportion_api.flags import parse_bool
from apportion_api.kai.names import (
    BINPACK,
    CPU_WORKER_LABEL,
    GPU_WORKER_LABEL,
    MIG_WORKER_LABEL,
    NODE_POOL_LABEL,
    QUEUE_LABEL,
    RESERVATION_APP,
    SPREAD,
)
from apportion_api.kai.objects import SchedulingShard
from apportion_runtime.core.snapshot import Settings
from apportion_runtime.snapshots.faults import IGNORED_VALUE, QUANTITY, Fault
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.quantities import NANO, parse_duration, parse_integer

_ACTIONS = {"allocate": 500, "consolidation": 400, "reclaim": 300, "preempt": 200, "stalegangeviction": 100}
_GENERATORS = {"sg-nodelocalgreedy": 360, "sg-multinodegang": 350}
_OPT_IN = frozenset(("numa", "gpuspread"))
_WITHOUT_EFFECT = frozenset(("snapshot",))
"""Plugins without effect on decisions: the snapshot plugin only writes dumps."""
_PLACEMENT_HINT = "use a value listed in the engine's documentation"


@dataclass(frozen=True, slots=True)
class Engine:
    """The settings that affect how objects are read, and the settings of the core."""

    settings: Settings = field(default_factory=Settings)
    node_pool_key: str = NODE_POOL_LABEL
    node_pool: str = ""
    queue_key: str = QUEUE_LABEL
    reservation_app: str = RESERVATION_APP
    mig_worker_key: str = MIG_WORKER_LABEL
    gpu_worker_key: str = GPU_WORKER_LABEL
    cpu_worker_key: str = CPU_WORKER_LABEL
    stuck_after_s: float = 120.0
    restricts_nodes: bool = False
    is_full_hierarchy: bool = True

    def is_of_pool(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object belongs to the scheduler's part of the cluster."""
        if not self.node_pool_key:
            return True
        return labels.get(self.node_pool_key) == self.node_pool if self.node_pool else self.node_pool_key not in labels


def configured(objects: Mapping[str, Sequence[Object]], shard: str | None, faults: list[Fault]) -> Engine:
    """Return the configuration from the objects; of several shards the given one, or the one without a partition.

    Raises:
        KeyError: If the given shard does not exist.
    """
    engine = Engine()
    for config in objects["Config"]:
        declared = config.spec.get("global") or {}
        engine = replace(
            engine,
            settings=replace(
                engine.settings, scheduler_name=declared.get("schedulerName") or engine.settings.scheduler_name
            ),
            node_pool_key=declared.get("nodePoolLabelKey") or engine.node_pool_key,
            queue_key=declared.get("queueLabelKey") or engine.queue_key,
        )
    shards = objects["SchedulingShard"]
    if shard is not None:
        engine = _of_shard(engine, {each.name: each for each in shards}[shard], faults)
    elif shards:
        engine = _of_shard(engine, min(shards, key=lambda s: (s.read_as(SchedulingShard).partition, s.name)), faults)
    for dumped in objects["EngineConfiguration"]:
        engine = _of_dump(engine, dumped, faults)
    return engine


def _of_shard(engine: Engine, shard: Object, faults: list[Fault]) -> Engine:
    read = shard.read_as(SchedulingShard)
    gpu, cpu = (read.placement.get(resource) or BINPACK for resource in ("gpu", "cpu"))
    packs = gpu == BINPACK
    defaults = Settings()
    by_packing = frozenset(("gpupack", "gpusharingorder"))
    left_out = frozenset(("gpuspread",)) if packs else by_packing
    plugins = set((defaults.plugins | {"gpuspread"}) - left_out)
    generators = dict(_GENERATORS)
    arguments: dict[str, Mapping[str, str]] = {
        "nodeplacement": {"gpu": gpu, "cpu": cpu},
        "minruntime": {
            key: written
            for key, written in (
                ("defaultPreemptMinRuntime", read.preempt_min_runtime),
                ("defaultReclaimMinRuntime", read.reclaim_min_runtime),
            )
            if written is not None
        },
        "proportion": {} if read.k_value is None else {"kValue": str(read.k_value)},
    }
    for name, override in sorted(read.plugins.items()):
        on = override.enabled is not False
        if name in _GENERATORS:
            if not on:
                del generators[name]
            elif override.priority is not None:
                generators[name] = override.priority
        elif not on:
            plugins.discard(name)
        elif name in defaults.plugins or name in _OPT_IN:
            # An entry without `enabled` keeps the default.
            if override.enabled or name not in left_out:
                plugins.add(name)
        elif name not in _WITHOUT_EFFECT:
            _ignored(faults, shard, ("spec", "plugins", name), f"the engine has no built-in plugin `{name}`")
        if override.arguments is not None:
            arguments[name] = override.arguments
    settings = replace(
        engine.settings,
        plugins=frozenset(plugins),
        generators=tuple(sorted(generators, key=lambda n: -generators[n])),
        actions=_actions(shard, read, spreads=SPREAD in (gpu, cpu), faults=faults),
        queue_depth=dict(read.queue_depth),
    )
    settings = _with_arguments(settings, arguments, shard, ("spec", "plugins"), faults)
    engine = replace(engine, settings=settings, node_pool=read.partition)
    return _with_flags(engine, shard, read.arguments, faults)


def _actions(shard: Object, read: SchedulingShard, *, spreads: bool, faults: list[Fault]) -> tuple[str, ...]:
    ranks = dict(_ACTIONS)
    if spreads:
        del ranks["consolidation"]
    for name, override in sorted(read.actions.items()):
        if name not in _ACTIONS:
            _ignored(faults, shard, ("spec", "actions", name), f"the engine has no action `{name}`")
        elif override.enabled is False:
            ranks.pop(name, None)
        elif name in ranks or override.enabled:
            ranks[name] = ranks.get(name, _ACTIONS[name]) if override.priority is None else override.priority
    return tuple(sorted(ranks, key=lambda name: (-ranks[name], name)))


def _with_arguments(
    settings: Settings,
    arguments: Mapping[str, Mapping[str, str]],
    of: Object,
    path: tuple[str, ...],
    faults: list[Fault],
) -> Settings:
    placement = arguments.get("nodeplacement") or {}
    runtime = arguments.get("minruntime") or {}

    def read(plugin: str, key: str, parse: Callable[[str], float], default: float, least: float = 0.0) -> float:
        text = (arguments.get(plugin) or {}).get(key)
        if text is None:
            return default
        try:
            number = parse(text)
        except ValueError as wrong:
            _ignored(faults, of, (*path, plugin, "arguments", key), f"{wrong}; using the default")
            return default
        if number < least:
            message = f"`{text}` is less than the minimum of {least:g}; using {least:g}"
            _ignored(faults, of, (*path, plugin, "arguments", key), message)
        return max(number, least)

    return replace(
        settings,
        gpu_placement=placement.get("gpu") or BINPACK,
        cpu_placement=placement.get("cpu") or BINPACK,
        k_value=read("proportion", "kValue", _number, settings.k_value),
        # The misspelt key is the engine's.
        saturation_multiplier=read("proportion", "relcaimerSaturationMultiplier", _number, 1.0, 1.0),
        reclaim_resolve_method=runtime.get("reclaimResolveMethod") or settings.reclaim_resolve_method,
        default_preempt_min_runtime=read("minruntime", "defaultPreemptMinRuntime", parse_duration, 0.0),
        default_reclaim_min_runtime=read("minruntime", "defaultReclaimMinRuntime", parse_duration, 0.0),
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"`{text}` is not a number") from None


_OF_SETTINGS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "scheduler-name": ("scheduler_name", str),
    "max-consolidation-preemptees": ("max_consolidation_preemptees", parse_integer),
    "use-scheduling-signatures": ("use_scheduling_signatures", parse_bool),
    "allow-consolidating-reclaim": ("allow_consolidating_reclaim", parse_bool),
    "default-staleness-grace-period": ("staleness_grace", parse_duration),
}
_OF_ENGINE: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "stuck-in-releasing-threshold": ("stuck_after_s", parse_duration),
    "restrict-node-scheduling": ("restricts_nodes", parse_bool),
    "full-hierarchy-fairness": ("is_full_hierarchy", parse_bool),
    "partition-label-value": ("node_pool", str),
    "nodepool-label-key": ("node_pool_key", str),
    "queue-label-key": ("queue_key", str),
    "resource-reservation-app-label": ("reservation_app", str),
    "mig-worker-node-label-key": ("mig_worker_key", str),
    "gpu-worker-node-label-key": ("gpu_worker_key", str),
    "cpu-worker-node-label-key": ("cpu_worker_key", str),
}
"""Scheduler flags with an effect on decisions; all others are ignored."""


def _with_flags(engine: Engine, shard: Object, flags: Mapping[str, str], faults: list[Fault]) -> Engine:
    of_settings: dict[str, Any] = {}
    of_engine: dict[str, Any] = {}
    for flag, text in sorted(flags.items()):
        for table, made in ((_OF_SETTINGS, of_settings), (_OF_ENGINE, of_engine)):
            if flag in table:
                name, parse = table[flag]
                try:
                    made[name] = parse(text)
                except ValueError as wrong:
                    place = shard.place.at("spec", "args", flag)
                    hint = f"correct `{flag}` in spec.args"
                    faults.append(Fault(QUANTITY, shard.address, f"`{flag}`: {wrong}", hint, place))
    return replace(engine, settings=replace(engine.settings, **of_settings), **of_engine)


def _of_dump(engine: Engine, dumped: Object, faults: list[Fault]) -> Engine:
    config: Mapping[str, Any] = dumped.data.get("config") or {}
    settings = engine.settings
    tiers = [plugin for tier in config.get("tiers") or () for plugin in tier.get("plugins") or ()]
    if tiers:
        named = {plugin.get("name") or "": plugin.get("arguments") or {} for plugin in tiers}
        settings = replace(
            settings,
            plugins=frozenset(name for name in named if name not in _WITHOUT_EFFECT and name not in _GENERATORS),
            generators=tuple(name for name in named if name in _GENERATORS),
        )
        settings = _with_arguments(settings, named, dumped, ("config",), faults)
    if config.get("actions"):
        actions = tuple(name.strip() for name in config["actions"].split(","))
        settings = replace(settings, actions=tuple(name for name in actions if name in _ACTIONS))
    if config.get("queueDepthPerAction"):
        settings = replace(settings, queue_depth=dict(config["queueDepthPerAction"]))
    declared: Mapping[str, Any] = dumped.data.get("schedulerParams") or {}
    if not declared:
        return replace(engine, settings=settings)
    # A flag that is off is not written.
    settings = replace(
        settings,
        scheduler_name=declared.get("schedulerName") or settings.scheduler_name,
        max_consolidation_preemptees=declared.get("maxNumberConsolidationPreemptees") or 0,
        use_scheduling_signatures=bool(declared.get("useSchedulingSignatures")),
        allow_consolidating_reclaim=bool(declared.get("allowConsolidatingReclaim")),
        staleness_grace=(declared.get("globalDefaultStalenessGracePeriod") or 0) / NANO,
    )
    partition = declared.get("partitionParams") or {}
    return replace(
        engine,
        settings=settings,
        node_pool_key=partition.get("NodePoolLabelKey") or "",
        node_pool=partition.get("NodePoolLabelValue") or "",
        queue_key=declared.get("queueLabelKey") or engine.queue_key,
        stuck_after_s=(declared.get("stuckInReleasingThreshold") or 0) / NANO or engine.stuck_after_s,
        restricts_nodes=bool(declared.get("restrictSchedulingNodes")),
        is_full_hierarchy=bool(declared.get("fullHierarchyFairness")),
    )


def _ignored(faults: list[Fault], of: Object, path: tuple[str, ...], message: str) -> None:
    faults.append(Fault(IGNORED_VALUE, of.address, f"`{path[-1]}`: {message}", _PLACEMENT_HINT, of.place.at(*path)))
