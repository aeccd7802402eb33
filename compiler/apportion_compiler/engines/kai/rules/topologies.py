"""Topology (kai.scheduler/v1alpha1): levels, which are immutable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from apportion_api.kai.names import TOPOLOGY_API
from apportion_api.kai.objects import Level, Topology
from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_api.objects import is_a, read, read_all
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, unserved

_MAX_LEVELS = 16
_MAX_KEY = 316
_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
)


def topology_verdicts(index: int, manifest: Manifest, existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on a topology, and on a change of an existing one."""
    if not is_a(Topology, manifest):
        return
    topology = read(Topology, manifest)
    about = FieldVerdicts(index, topology.faults)
    yield from unserved(about, manifest, TOPOLOGY_API)
    yield from about.mistyped()
    if topology.levels is None:
        yield about.rejected(
            "spec.levels", "Required", "levels must be set", "list node label keys, widest level first"
        )
        return
    keys = [level.label for level in topology.levels]
    if not 1 <= len(keys) <= _MAX_LEVELS and not about.is_malformed("spec.levels"):
        yield about.rejected(
            "spec.levels",
            "TooMany" if keys else "Invalid",
            f"the topology has {len(keys)} levels",
            f"list 1 to {_MAX_LEVELS} levels",
        )
    yield from _levels(about, topology.levels)
    former = next((one for one in read_all(Topology, existing) if one.name == topology.name), None)
    if former is not None and [level.label for level in former.levels or ()] != keys:
        yield about.rejected(
            "spec.levels", "Invalid", "nodeLabel structure is immutable; only aliases may be edited",
            "create a topology with a different name",
        )  # fmt: skip


def _levels(about: FieldVerdicts, levels: Sequence[Level]) -> Iterator[Verdict]:
    keys, aliases = [level.label for level in levels], [level.alias for level in levels]
    for number, (key, alias) in enumerate(zip(keys, aliases, strict=True)):
        field = f"spec.levels[{number}]"
        if key is None:
            yield about.rejected(
                f"{field}.nodeLabel",
                "Required",
                "nodeLabel is missing",
                "use a node label key, such as example.com/rack",
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
                f"another level already uses alias `{alias}`",
                "use a unique alias",
            )
