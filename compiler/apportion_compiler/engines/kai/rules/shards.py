"""SchedulingShard (kai.scheduler/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.durations import parse_duration
from apportion_api.kai.names import ACTIONS, PLACEMENTS, SHARD_API
from apportion_api.kai.objects import SchedulingShard
from apportion_api.objects import is_a, read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, unserved
from apportion_compiler.kubernetes_names import is_label, is_label_value


def shard_verdicts(index: int, manifest: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a shard."""
    if not is_a(SchedulingShard, manifest):
        return
    shard = read(SchedulingShard, manifest)
    about = FieldVerdicts(index, shard.faults)
    yield from unserved(about, manifest, SHARD_API)
    yield from about.mistyped()
    if not is_label(shard.name):
        yield about.ignored(
            "metadata.name", "Invalid", f"`{shard.name}` is part of a Service name, which cannot contain dots",
            "use lowercase letters, digits and dashes",
        )  # fmt: skip
    if not is_label_value(shard.partition) and not about.is_malformed("spec.partitionLabelValue"):
        yield about.ignored(
            "spec.partitionLabelValue", "Invalid", f"`{shard.partition}` is not a valid label value, so the shard has "
            "no nodes",
            "use at most 63 letters, digits, dashes, dots and underscores",
        )  # fmt: skip
    for resource, strategy in shard.placement.items():
        field = f"spec.placementStrategy.{resource}"
        if strategy not in PLACEMENTS and not about.is_malformed(field):
            yield about.ignored(
                field, "NotSupported", f"`{strategy}` is not a KAI placement strategy", f"use {' or '.join(PLACEMENTS)}"
            )
    for action in shard.queue_depth:
        if action not in ACTIONS:
            yield about.ignored(
                f"spec.queueDepthPerAction.{action}", "NotSupported", f"`{action}` is not a KAI action",
                f"use one of {', '.join(ACTIONS)}",
            )  # fmt: skip
    for name, runtime in (
        ("preemptMinRuntime", shard.preempt_min_runtime),
        ("reclaimMinRuntime", shard.reclaim_min_runtime),
    ):
        field = f"spec.minRuntime.{name}"
        if runtime is not None and not about.is_malformed(field):
            try:
                parse_duration(runtime)
            except ValueError as refused:
                yield about.ignored(field, "Invalid", str(refused), "use hours, minutes and seconds, such as 1h30m")
