"""SchedulingShard: the pools in its placement, and KAI's cluster settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from apportion_api.durations import parse_duration, whole_seconds
from apportion_api.flags import FALSE_TEXTS, TRUE_TEXTS
from apportion_api.kai.names import DEFAULT_SCHEDULER, PLACEMENTS
from apportion_api.kai.objects import Queue, SchedulingShard
from apportion_api.objects import is_a, read, read_all
from apportion_compiler.readers.record import ClusterRecord, Manifest, Note, PoolRecord
from apportion_policy.engine_settings import KaiSettings
from apportion_policy.quantity import weight_text

_ACTIONS = ("allocate", "consolidation", "reclaim", "preempt")
_FAIRNESS = "full-hierarchy-fairness"
_PREEMPTEES = "max-consolidation-preemptees"


def pools_of(manifests: Sequence[Manifest], partitions: Mapping[str, str | None]) -> Iterator[PoolRecord]:
    """Yield a pool for each GPU model that has a shard, and one for all other machines, if there is more than one."""
    if len(partitions) == 1:
        return
    shards = {shard.partition: shard for shard in read_all(SchedulingShard, manifests)}
    default = _placement(shards.get(""))
    for partition, model in partitions.items():
        gpu, cpu = _placement(shards.get(partition))
        same = (gpu, cpu) == default
        yield PoolRecord(
            model or "ordinary", model, gpu_placement=None if same else gpu, cpu_placement=None if same else cpu
        )


def is_default_shard(manifest: Manifest) -> bool:
    """Return whether an object is the shard that KAI's chart installs (templates/default-shard.yaml)."""
    return is_a(SchedulingShard, manifest) and not read(SchedulingShard, manifest).partition


def cluster_of(manifests: Sequence[Manifest], scheduler_name: str, notes: list[Note]) -> ClusterRecord:
    """Return the settings of the default shard, or of the first; differences in others are noted."""
    shards = sorted(read_all(SchedulingShard, manifests), key=lambda shard: shard.partition)
    settings: dict[str, Any] = _settings(shards[0], notes) if shards else {}
    for shard in shards:
        if _settings(shard, []) != settings:
            notes.append(
                Note(
                    str(shard),
                    f"its settings are dropped: all shards use the settings of {shards[0]}",
                )
            )
    if scheduler_name != DEFAULT_SCHEDULER:
        settings["scheduler_name"] = scheduler_name
    gpu, cpu = _placement(shards[0] if shards else None)
    return ClusterRecord(gpu, cpu, kai=KaiSettings(**settings) if settings else None)


def _placement(shard: SchedulingShard | None) -> tuple[str | None, str | None]:
    written = {} if shard is None else shard.placement
    gpu, cpu = (written.get(resource) for resource in ("gpu", "cpu"))
    return gpu if gpu in PLACEMENTS else None, cpu if cpu in PLACEMENTS else None


def _settings(shard: SchedulingShard, notes: list[Note]) -> dict[str, Any]:
    """Return the fields of `KaiSettings` that a shard sets."""
    found: dict[str, Any] = {}
    arguments = shard.arguments
    if arguments.get(_FAIRNESS) in FALSE_TEXTS:
        found["full_hierarchy_fairness"] = False
    preemptees = arguments.get(_PREEMPTEES, "")
    if preemptees.isascii() and preemptees.isdecimal() and int(preemptees) < 2**31:
        found["max_consolidation_preemptees"] = int(preemptees)
    fairness = {_FAIRNESS} if arguments.get(_FAIRNESS) in {*TRUE_TEXTS, *FALSE_TEXTS} else set()
    kept_arguments = fairness | ({_PREEMPTEES} if "max_consolidation_preemptees" in found else set())
    notes.extend(Note(str(shard), f"`spec.args.{name}` is dropped") for name in arguments if name not in kept_arguments)
    if shard.k_value is not None and shard.k_value >= 0:
        exact = Decimal(repr(shard.k_value)) * 1000
        if exact != int(exact):
            notes.append(
                Note(str(shard), f"spec.kValue is {shard.k_value}, which has more than three decimal places: rounded")
            )
        found["k_value"] = weight_text(round(exact))
    for ours, theirs, duration in (
        ("preempt_min_runtime", "preemptMinRuntime", shard.preempt_min_runtime),
        ("reclaim_min_runtime", "reclaimMinRuntime", shard.reclaim_min_runtime),
    ):
        seconds = min_runtime(shard, f"spec.minRuntime.{theirs}", duration, notes)
        if seconds is not None:
            found[ours] = f"{seconds}s"
    kept = {action: n for action in _ACTIONS if (n := shard.queue_depth.get(action)) is not None and n >= 1}
    is_malformed = any(fault.steps[:2] == ("spec", "queueDepthPerAction") for fault in shard.faults)
    if len(kept) < len(shard.queue_depth) or is_malformed:
        notes.append(Note(str(shard), "spec.queueDepthPerAction: unknown actions and values below 1 are dropped"))
    if kept:
        found["queue_depth_per_action"] = kept
    return found


def min_runtime(of: Queue | SchedulingShard, field: str, written: str | None, notes: list[Note]) -> int | None:
    """Return a minimum runtime in seconds; None if it is missing, or negative and so without effect.

    Raises:
        ValueError: If it is not a valid duration.
    """
    if written is None:
        return None
    try:
        exact = parse_duration(written)
    except ValueError as refused:
        raise ValueError(f"{of}: {field}: {refused}") from None
    if exact < 0:
        notes.append(Note(str(of), f"{field} is {written}, which is negative and has no effect: dropped"))
        return None
    seconds, is_whole = whole_seconds(written)
    if not is_whole:
        notes.append(Note(str(of), f"{field} is {written}: rounded up to {seconds}s"))
    return seconds
