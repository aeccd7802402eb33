"""Topology (kai.scheduler/v1alpha1): levels, which cannot be changed afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from apportion_api.kai.names import TOPOLOGY_API
from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, is_kind, unserved
from apportion_compiler.plain_objects import items, mapping, name_of, text

_GROUP, _, _VERSION = TOPOLOGY_API.partition("/")
_MAX_LEVELS = 16
_MAX_KEY = 316
_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
)


def topology_verdicts(index: int, manifest: Manifest, existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on a topology; where the cluster has it, on the change."""
    if not is_kind(manifest, _GROUP, "Topology"):
        return
    about = FieldVerdicts(index)
    yield from unserved(about, manifest, _GROUP, _VERSION)
    levels = mapping(manifest, "spec").get("levels")
    if levels is None:
        yield about.rejected(
            "spec.levels", "Required", "levels are missing", "list node label keys, widest level first"
        )
        return
    yield from about.mistyped(levels, "spec.levels", "array")
    keys = _keys(manifest)
    if not 1 <= len(keys) <= _MAX_LEVELS and isinstance(levels, list | tuple):
        yield about.rejected(
            "spec.levels",
            "TooMany" if keys else "Invalid",
            f"there are {len(keys)} levels",
            f"list 1 to {_MAX_LEVELS} levels",
        )
    yield from _levels(about, manifest, keys)
    former = next((m for m in existing if is_kind(m, _GROUP, "Topology") and name_of(m) == name_of(manifest)), None)
    if former is not None and _keys(former) != keys:
        yield about.rejected(
            "spec.levels", "Invalid", "nodeLabel structure is immutable; only aliases may be edited",
            "create a topology with a different name",
        )  # fmt: skip


def _levels(about: FieldVerdicts, manifest: Manifest, keys: Sequence[str | None]) -> Iterator[Verdict]:
    aliases = [text(level, "alias") for level in items(manifest, "spec", "levels")]
    for number, (key, alias) in enumerate(zip(keys, aliases, strict=True)):
        field = f"spec.levels[{number}]"
        if key is None:
            yield about.rejected(
                f"{field}.nodeLabel", "Required", "nodeLabel is missing", "use the key of a node label"
            )
            continue
        if len(key) > _MAX_KEY or not _KEY.fullmatch(key):
            yield about.rejected(
                f"{field}.nodeLabel",
                "Invalid",
                f"`{key}` is not a valid label key",
                "use a key such as example.com/rack",
            )
        if key in keys[:number]:
            yield about.rejected(f"{field}.nodeLabel", "Duplicate", "nodeLabel must be unique", "list each level once")
        if key == HOSTNAME_LABEL and number < len(keys) - 1:
            yield about.rejected(
                f"{field}.nodeLabel", "Invalid",
                "the kubernetes.io/hostname label can only be used at the lowest level of topology", "list it last",
            )  # fmt: skip
        if alias is not None and (alias in aliases[:number] or alias in keys):
            yield about.rejected(
                f"{field}.alias",
                "Duplicate",
                f"the alias `{alias}` is already used by another level",
                "give it a unique name",
            )


def _keys(manifest: Manifest) -> list[str | None]:
    return [text(level, "nodeLabel") for level in items(manifest, "spec", "levels")]
