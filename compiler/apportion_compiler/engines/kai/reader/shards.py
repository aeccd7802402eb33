"""SchedulingShard: the pools that its placement speaks of, and KAI's settings of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from apportion_api.kai.names import CONFIGURATION_GROUP, DEFAULT_SCHEDULER
from apportion_compiler.plain_objects import described, integer, mapping, of_kind, text, whole_seconds
from apportion_compiler.readers.objects import unknown_fields
from apportion_compiler.readers.record import ClusterRecord, Manifest, Note, PoolRecord
from apportion_policy.engine_settings import KaiSettings
from apportion_policy.quantity import weight_text

_FIELDS = frozenset(("partitionLabelValue", "placementStrategy", "args", "kValue", "minRuntime", "queueDepthPerAction"))
_ACTIONS = ("allocate", "consolidation", "reclaim", "preempt")
_STRATEGIES = ("binpack", "spread")
_FAIRNESS = "full-hierarchy-fairness"
_PREEMPTEES = "max-consolidation-preemptees"


def pools_of(manifests: Sequence[Manifest], partitions: Mapping[str, str | None]) -> Iterator[PoolRecord]:
    """Yield a pool for each GPU model that has a shard, and one for the machines of none, where there is a choice."""
    if len(partitions) == 1:
        return
    shards = {text(m, "spec", "partitionLabelValue") or "": m for m in _shards(manifests)}
    default = _placement(shards.get(""))
    for partition, model in partitions.items():
        gpu, cpu = _placement(shards.get(partition))
        same = (gpu, cpu) == default
        yield PoolRecord(
            model or "ordinary", model, gpu_placement=None if same else gpu, cpu_placement=None if same else cpu
        )


def cluster_of(manifests: Sequence[Manifest], scheduler_name: str, notes: list[Note]) -> ClusterRecord:
    """Return what the default shard says, or the first; what the others say otherwise is noted."""
    shards = sorted(_shards(manifests), key=lambda m: text(m, "spec", "partitionLabelValue") or "")
    settings: dict[str, Any] = _settings(shards[0], notes) if shards else {}
    for shard in shards:
        notes.extend(unknown_fields(shard, _FIELDS, "spec"))
        if _settings(shard, []) != settings:
            notes.append(
                Note(
                    described(shard),
                    f"has different settings than {described(shards[0])}, whose settings are used for all shards",
                )
            )
    if scheduler_name != DEFAULT_SCHEDULER:
        settings["scheduler_name"] = scheduler_name
    gpu, cpu = _placement(shards[0] if shards else None)
    return ClusterRecord(gpu, cpu, kai=KaiSettings(**settings) if settings else None)


def _shards(manifests: Sequence[Manifest]) -> list[Manifest]:
    return of_kind(manifests, CONFIGURATION_GROUP, "SchedulingShard")


def _placement(shard: Manifest | None) -> tuple[str | None, str | None]:
    gpu, cpu = (text(shard, "spec", "placementStrategy", key) for key in ("gpu", "cpu"))
    return gpu if gpu in _STRATEGIES else None, cpu if cpu in _STRATEGIES else None


def _settings(shard: Manifest, notes: list[Note]) -> dict[str, Any]:
    """Return the fields of `KaiSettings` that a shard sets."""
    found: dict[str, Any] = {}
    arguments = mapping(shard, "spec", "args")
    if str(arguments.get(_FAIRNESS, "true")).lower() == "false":
        found["full_hierarchy_fairness"] = False
    preemptees = str(arguments.get(_PREEMPTEES, ""))
    if preemptees.isascii() and preemptees.isdecimal() and int(preemptees) < 2**31:
        found["max_consolidation_preemptees"] = int(preemptees)
    kept_arguments = {_FAIRNESS} | ({_PREEMPTEES} if "max_consolidation_preemptees" in found else set())
    notes.extend(
        Note(described(shard), f"`spec.args.{name}` is dropped") for name in arguments if name not in kept_arguments
    )
    k_value = mapping(shard, "spec").get("kValue")
    if isinstance(k_value, int | float) and not isinstance(k_value, bool) and k_value >= 0:
        exact = Decimal(repr(k_value)) * 1000
        if exact != int(exact):
            notes.append(Note(described(shard), f"spec.kValue is {k_value}, more than three decimals: rounded"))
        found["k_value"] = weight_text(round(exact))
    for ours, theirs in (("preempt_min_runtime", "preemptMinRuntime"), ("reclaim_min_runtime", "reclaimMinRuntime")):
        duration = text(shard, "spec", "minRuntime", theirs)
        if duration is not None:
            try:
                found[ours] = f"{whole_seconds(duration)[0]}s"
            except ValueError as refused:
                raise ValueError(f"{described(shard)}: spec.minRuntime.{theirs}: {refused}") from None
    depths = mapping(shard, "spec", "queueDepthPerAction")
    kept = {a: n for a in _ACTIONS if (n := integer(depths, a)) is not None and n >= 1}
    if len(kept) < len(depths):
        notes.append(Note(described(shard), "spec.queueDepthPerAction: unknown actions and values below 1 are dropped"))
    if kept:
        found["queue_depth_per_action"] = kept
    return found
