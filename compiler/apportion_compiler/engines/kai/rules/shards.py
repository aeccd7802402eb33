"""SchedulingShard (kai.scheduler/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kai.names import SHARD_API
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, is_kind, unserved
from apportion_compiler.kubernetes_names import is_label, is_label_value
from apportion_compiler.plain_objects import mapping, name_of, whole_seconds

_GROUP, _, _VERSION = SHARD_API.partition("/")
_STRATEGIES = ("binpack", "spread")
_ACTIONS = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")
_TYPES = {
    "partitionLabelValue": "string",
    "placementStrategy": "object",
    "args": "object",
    "kValue": "number",
    "minRuntime": "object",
    "queueDepthPerAction": "object",
}


def shard_verdicts(index: int, manifest: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a shard."""
    if not is_kind(manifest, _GROUP, "SchedulingShard"):
        return
    about = FieldVerdicts(index)
    yield from unserved(about, manifest, _GROUP, _VERSION)
    spec = mapping(manifest, "spec")
    for field, wanted in _TYPES.items():
        yield from about.mistyped(spec.get(field), f"spec.{field}", wanted)
    if not is_label(name_of(manifest)):
        yield about.ignored(
            "metadata.name", "Invalid", f"`{name_of(manifest)}` becomes part of a Service's name, which cannot have "
            "dots",
            "use lowercase letters, digits and dashes",
        )  # fmt: skip
    partition = spec.get("partitionLabelValue")
    if isinstance(partition, str) and not is_label_value(partition):
        yield about.ignored(
            "spec.partitionLabelValue", "Invalid", f"`{partition}` is not a valid label value, so no node belongs to "
            "the shard",
            "use at most 63 letters, digits, dashes, dots and underscores",
        )  # fmt: skip
    for resource, strategy in mapping(spec, "placementStrategy").items():
        yield from about.mistyped(strategy, f"spec.placementStrategy.{resource}", "string")
        if isinstance(strategy, str) and strategy not in _STRATEGIES:
            yield about.ignored(
                f"spec.placementStrategy.{resource}", "NotSupported", f"`{strategy}` is not a strategy of KAI",
                f"use {' or '.join(_STRATEGIES)}",
            )  # fmt: skip
    for name, value in mapping(spec, "args").items():
        yield from about.mistyped(value, f"spec.args[{name}]", "string")
    for action, depth in mapping(spec, "queueDepthPerAction").items():
        yield from about.mistyped(depth, f"spec.queueDepthPerAction.{action}", "integer")
        if action not in _ACTIONS:
            yield about.ignored(
                f"spec.queueDepthPerAction.{action}", "NotSupported", f"`{action}` is not an action of KAI",
                f"use one of {', '.join(_ACTIONS)}",
            )  # fmt: skip
    yield from _runtimes(about, manifest)


def _runtimes(about: FieldVerdicts, manifest: Manifest) -> Iterator[Verdict]:
    for field, value in mapping(manifest, "spec", "minRuntime").items():
        yield from about.mistyped(value, f"spec.minRuntime.{field}", "string")
        if isinstance(value, str):
            try:
                whole_seconds(value)
            except ValueError as refused:
                yield about.ignored(
                    f"spec.minRuntime.{field}", "Invalid", str(refused), "use hours, minutes and seconds, such as 1h30m"
                )
