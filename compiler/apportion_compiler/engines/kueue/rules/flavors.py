"""Rules on single ResourceFlavors and Topologies: ValidateResourceFlavor, and the CEL rules of the CRDs."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_api.kueue.objects import ResourceFlavor, Topology
from apportion_api.objects import read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import EFFECTS, FieldVerdicts
from apportion_compiler.kubernetes_names import is_label_key, is_label_value

_MAX = 8
_MAX_LEVELS = 16


def flavor_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a ResourceFlavor, and on its update if it exists."""
    flavor = read(ResourceFlavor, manifest)
    about = FieldVerdicts(index, flavor.faults)
    yield from about.bad_labels(flavor.labels, "spec.nodeLabels")
    counts = {
        "nodeLabels": len(flavor.labels),
        "nodeTaints": len(flavor.taints),
        "tolerations": len(flavor.tolerations),
    }
    for field, count in counts.items():
        if count > _MAX:
            yield about.rejected(f"spec.{field}", "TooMany", f"must have at most {_MAX} items", f"keep at most {_MAX}")
    yield from _taints(about, flavor)
    yield from about.tolerations(flavor.tolerations, "spec.tolerations")
    if flavor.topology is not None and not flavor.labels:
        yield about.rejected(
            "spec", "Invalid", "at least one nodeLabel is required when topology is set", "set nodeLabels"
        )
    before = None if stored is None else read(ResourceFlavor, stored).topology
    if before is not None and flavor.topology != before:
        yield about.rejected(
            "spec",
            "Invalid",
            "topologyName is immutable when topologyName is set",
            "create a flavor with a different name",
        )


def topology_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a Topology, and on its update if it exists."""
    about = FieldVerdicts(index)
    levels = read(Topology, manifest).labels
    if not levels or len(levels) > _MAX_LEVELS:
        yield about.rejected(
            "spec.levels", "Invalid", f"must have from 1 to {_MAX_LEVELS} items", "list the levels, widest first"
        )
    if len(set(levels)) < len(levels):
        yield about.rejected("spec.levels", "Invalid", "must be unique", "list each label once")
    if HOSTNAME_LABEL in levels[:-1]:
        yield about.rejected(
            "spec.levels", "Invalid", f"the {HOSTNAME_LABEL} label can only be used at the lowest level of topology",
            "list it last",
        )  # fmt: skip
    for number, level in enumerate(levels):
        if not is_label_key(level):
            yield about.rejected(
                f"spec.levels[{number}].nodeLabel",
                "Invalid",
                f'"{level}" is not a valid label key',
                "use a key such as example.com/name",
            )
    if stored is not None and levels != (before := read(Topology, stored).labels):
        # Up to 0.18, every update is rejected.
        hosts = levels[-1:] == before[-1:] == (HOSTNAME_LABEL,)
        yield (about.ignored if hosts else about.rejected)(
            "spec.levels", "Invalid",
            "levels are mutable only in Kueue 0.19 and later, and only if kubernetes.io/hostname is the lowest level both "
            "before and after the change",
            "create a Topology with a different name",
        )  # fmt: skip


def _taints(about: FieldVerdicts, flavor: ResourceFlavor) -> Iterator[Verdict]:
    seen: set[tuple[object, object]] = set()
    for number, taint in enumerate(flavor.taints):
        at = f"spec.nodeTaints[{number}]"
        key, value, effect = taint.get("key"), taint.get("value"), taint.get("effect")
        if not isinstance(key, str) or not is_label_key(key):
            yield about.rejected(
                f"{at}.key", "Invalid", f'"{key}" is not a valid taint key', "use a key such as example.com/name"
            )
        if value is not None and (not isinstance(value, str) or not is_label_value(value)):
            yield about.rejected(
                f"{at}.value",
                "Invalid",
                f'"{value}" is not a valid taint value',
                "use letters, digits, dashes, underscores and dots",
            )
        if effect not in EFFECTS:
            yield about.rejected(
                f"{at}.effect", "NotSupported", f"supported taint effect values: {', '.join(EFFECTS)}",
                "use NoSchedule",
            )  # fmt: skip
        if (key, effect) in seen:
            yield about.rejected(
                at, "Duplicate", "taints must be unique by key and effect pair", "remove the duplicate taint"
            )
        seen.add((key, effect))
