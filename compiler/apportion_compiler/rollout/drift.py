"""Drift: an export of a cluster compared with compiled objects.

A field has drifted if it was applied and is missing or different, or if a user added it, as far as the export has
`metadata.managedFields` (`kubectl get … --show-managed-fields`). Values that the API server defaults, and `status`,
have not drifted. An unmanaged object is reported if it affects applied ones (`unmanaged.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from apportion_api.kubernetes.names import LAST_APPLIED_ANNOTATION
from apportion_compiler.backends.metadata import GROUP, MANAGED_BY_LABEL, MANAGER
from apportion_compiler.plain_objects import Manifest, items, labels_of, mapping, same_value, text
from apportion_compiler.readers import current_spec
from apportion_compiler.rollout.differences import below, field_changes
from apportion_compiler.rollout.identity import Identity, identity_of
from apportion_compiler.rollout.unmanaged import unmanaged

_PERSONS = ("kubectl", "before-first-apply", "Mozilla", "k9s", "Lens", "headlamp")
"""Prefixes of the field managers that users write with. Controllers have other names."""
_NEVER_COMPARED = ("status",)


@dataclass(frozen=True, slots=True)
class DriftedObject:
    """An object that differs from what was applied.

    Attributes:
        state: `missing` from the cluster, `changed` there, `left` although it is no longer compiled, or `unmanaged`:
            never applied, but affecting applied objects.
        identity: The identity of the object.
        fields: Fields with the applied and the actual value; None means missing. For an unmanaged object, the field by
            which it affects others.
    """

    state: Literal["missing", "changed", "left", "unmanaged"]
    identity: Identity
    fields: tuple[tuple[str, object, object], ...] = ()


def drift(wanted: Sequence[Manifest], export: Sequence[Manifest]) -> tuple[DriftedObject, ...]:
    """Return the drift, in the order of `wanted`, then leftover and unmanaged objects."""
    there = {identity_of(one): one for one in export}
    found: list[DriftedObject] = []
    for manifest in wanted:
        key = identity_of(manifest)
        if key not in there:
            found.append(DriftedObject("missing", key))
            continue
        expected = manifest if _is_managed(there[key]) else _unmarked(manifest)
        stored = _in_written_version(expected, there[key])
        fields = (*_lost(expected, stored), *_added(expected, stored))
        if fields:
            found.append(DriftedObject("changed", key, fields))
    written = {identity_of(m) for m in wanted}
    left = [key for key, one in there.items() if labels_of(one).get(MANAGED_BY_LABEL) == MANAGER and key not in written]
    others = unmanaged(wanted, export)
    return (
        *found,
        *(DriftedObject("left", key) for key in sorted(left)),
        *(DriftedObject("unmanaged", key, ((path, None, name),)) for key, path, name in others if key not in left),
    )


def _in_written_version(written: Manifest, stored: Manifest) -> Manifest:
    """Return a stored object in the applied version: an export may have an older version that is still served."""
    spec = None if written.get("apiVersion") == stored.get("apiVersion") else current_spec(stored)
    return stored if spec is None else {**stored, "apiVersion": written["apiVersion"], "spec": spec}


def _is_managed(stored: Manifest) -> bool:
    return labels_of(stored).get(MANAGED_BY_LABEL) == MANAGER


def _unmarked(written: Manifest) -> Manifest:
    """Return an object without labels and annotations of its first apply, which an unmanaged object lacks."""
    metadata = dict(mapping(written, "metadata"))
    for kind in ("labels", "annotations"):
        entries = mapping(metadata, kind)
        metadata[kind] = {k: v for k, v in entries.items() if k != MANAGED_BY_LABEL and not k.startswith(f"{GROUP}/")}
    return {**written, "metadata": metadata}


def _lost(written: Manifest, stored: Manifest) -> Iterator[tuple[str, object, object]]:
    for key, value in written.items():
        if key not in _NEVER_COMPARED:
            yield from _less(value, stored.get(key), key)


def _less(written: object, stored: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Yield fields whose stored value is missing or different from the applied one."""
    if isinstance(written, Mapping) and isinstance(stored, Mapping):
        for key, value in written.items():
            yield from _less(value, stored.get(key), below(path, key))
    elif isinstance(written, list | tuple) and isinstance(stored, list | tuple) and len(written) == len(stored):
        if path.endswith(".children"):
            stored = _in_order_of(written, stored)
        for place, (one, other) in enumerate(zip(written, stored, strict=True)):
            yield from _less(one, other, f"{path}[{place}]")
    elif written != stored and (written or stored is not None):
        if path.startswith("spec.") and same_value(written, stored):
            return
        # The API server does not store empty values.
        for change in field_changes(written, stored, path):
            yield change.path, change.before, change.after


def _in_order_of(written: Sequence[object], stored: Sequence[object]) -> Sequence[object]:
    """Return the stored items in the order of the applied ones: the order of a queue's children is insignificant."""
    named = {text(item, "name"): item for item in stored}
    names = [text(item, "name") for item in written]
    return [named[name] for name in names] if set(names) == named.keys() else stored


def _added(written: Manifest, stored: Manifest) -> Iterator[tuple[str, object, object]]:
    """Yield the fields that a user owns and that were never applied."""
    for entry in items(stored, "metadata", "managedFields"):
        manager = text(entry, "manager") or ""
        if manager.startswith(_PERSONS) and text(entry, "subresource") is None:
            yield from _owned(mapping(entry, "fieldsV1"), written, stored, "", stored)


def _owned(
    fields: Mapping[str, object], written: object, stored: object, path: str, whole: Manifest
) -> Iterator[tuple[str, object, object]]:
    if not isinstance(stored, Mapping):
        return
    for name, inner in fields.items():
        key = name.removeprefix("f:")
        if key == name or key not in stored or (not path and key in _NEVER_COMPARED):
            # Members of lists are compared as a whole with the applied ones.
            continue
        step = below(path, key)
        if key == LAST_APPLIED_ANNOTATION or (key == MANAGED_BY_LABEL and not _is_managed(whole)):
            continue
        if isinstance(written, Mapping) and key in written:
            yield from _owned(mapping(inner), written[key], stored[key], step, whole)
        elif isinstance(stored[key], Mapping) and mapping(inner):
            yield from _owned(mapping(inner), {}, stored[key], step, whole)
        else:
            yield step, None, stored[key]
