"""Checks of YuniKorn's configuration: its ConfigMap, and annotations of PriorityClasses.

Source: k8shim 23b6b47f, pkg/cache/context.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from apportion_api.yunikorn.config_map import UnreadableConfigError, is_config_map, queues_text
from apportion_api.yunikorn.names import ALLOW_PREEMPTION_ANNOTATION
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engines.yunikorn.rules.config import parse_config
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.ignored_settings import ignored


def check(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on YuniKorn's configuration among the manifests."""
    for index, manifest in enumerate(manifests):
        if is_config_map(manifest):
            yield from _config_map(manifest, index)
        elif manifest.get("kind") == "PriorityClass":
            yield from _priority_class(manifest, index)


def _config_map(manifest: Manifest, index: int) -> Iterator[Verdict]:
    try:
        found = queues_text(manifest)
    except UnreadableConfigError as unreadable:
        yield Verdict(
            Effect.IGNORED, index, unreadable.field, "Invalid", str(unreadable), "move the configuration to `data`"
        )
        return
    if found is None:
        return
    try:
        partitions = parse_config(found.text)
    except ConfigRefusedError as refused:
        yield Verdict(
            Effect.REJECTED,
            index,
            _field(found.field, refused.path),
            "Invalid",
            refused.message,
            "correct the configuration; until then, YuniKorn keeps the previous one",
        )
        return
    for setting in ignored(partitions):
        yield Verdict(
            Effect.IGNORED, index, _field(found.field, setting.path), "Ignored", setting.message, setting.cure
        )


def _priority_class(manifest: Manifest, index: int) -> Iterator[Verdict]:
    metadata = manifest.get("metadata")
    annotations = _texts(metadata, "annotations") if isinstance(metadata, Mapping) else {}
    allowed = annotations.get(ALLOW_PREEMPTION_ANNOTATION)
    if allowed is not None and allowed not in ("true", "false"):
        yield Verdict(
            Effect.IGNORED,
            index,
            f"metadata.annotations[{ALLOW_PREEMPTION_ANNOTATION}]",
            "Ignored",
            f'"{allowed}" is treated as true',
            'to evict workloads in this class last, set the annotation to "false"',
        )


def _field(field: str, path: str) -> str:
    return f"{field}.{path}" if path else field


def _texts(value: object, key: str) -> Mapping[str, str]:
    found = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    held = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
    return {name: text for name, text in held.items() if isinstance(text, str)}
