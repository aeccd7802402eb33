"""Fields of imported objects that the compiled policy does not reproduce: one note for each, with its value.

Conservation: every leaf of an object that the engine reads is emitted with the same value, or a note names the object,
the leaf and the value. Fields of the API server (`status`, `managedFields`, …), annotations of deployment tools (kubectl,
Helm, Argo CD, Flux), and empty values (null, empty lists and maps) are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import yaml

from apportion_api.kubernetes.names import LAST_APPLIED_ANNOTATION
from apportion_compiler.backends.metadata import GROUP as APPORTION
from apportion_compiler.backends.metadata import MANAGED_BY_LABEL, MANAGER
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.plain_objects import described, group_of, name_of, same_value, text
from apportion_compiler.readers import READERS, current_spec
from apportion_compiler.readers.record import Manifest, Note

_SERVER_METADATA = frozenset(
    (
        "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation",
        "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
    )
)  # fmt: skip
_TOOLS = ("helm.sh", "meta.helm.sh", "argocd.argoproj.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io")
"""Prefixes of the labels and annotations of deployment tools. Applying an object without them does not remove them."""
_MOST_NAMES = 10
_Key = tuple[str, str, str, str]


def losses(engine: str, read: Sequence[Manifest], made: Sequence[Manifest]) -> tuple[Note, ...]:
    """Return a note for each leaf of the engine's objects that is not emitted.

    Other objects are compared if the policy also emits them, for different values; the rest are listed.
    """
    there = {_key(manifest): manifest for manifest in made}
    notes: list[Note] = []
    beside: dict[str, list[str]] = {}
    for manifest in read:
        kind, instead = str(manifest.get("kind")), there.get(_key(manifest))
        is_engines = (group_of(manifest), kind) in TRAITS[engine].configuration_kinds
        if is_engines and not (instead is None and READERS[engine].is_installed(manifest)):
            notes.extend(_of_object(manifest, instead))
        elif instead is not None:
            notes.extend(_overwritten(manifest, instead))
        else:
            namespace = text(manifest, "metadata", "namespace")
            beside.setdefault(kind, []).append(f"{namespace}/{name_of(manifest)}" if namespace else name_of(manifest))
    notes.extend(Note(kind, f"not part of the policy and left unchanged: {_some(beside[kind])}") for kind in beside)
    return tuple(notes)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _overwritten(manifest: Manifest, made: Manifest) -> Iterator[Note]:
    """Yield the changes of applying an object to an existing one; fields that it does not have are unchanged."""
    for path, value, instead in _different(_declared(manifest), made, ""):
        if path != "apiVersion" and instead is not None:
            yield Note(described(manifest), f"`{path}: {_text(value)}` is replaced by {_text(instead)}", lost=True)


def _key(manifest: Manifest) -> _Key:
    return (
        group_of(manifest),
        str(manifest.get("kind")),
        text(manifest, "metadata", "namespace") or "",
        name_of(manifest),
    )


def _of_object(manifest: Manifest, made: Manifest | None) -> Iterator[Note]:
    declared = _declared(manifest)
    if made is None:
        rest = {key: value for key, value in declared.items() if key not in ("apiVersion", "kind")}
        for path, value in _leaves(rest, ""):
            yield Note(
                described(manifest),
                f"`{path}: {_text(value)}` is dropped: the policy does not emit this object",
                lost=True,
            )
        return
    for path, value, instead in _different(declared, made, ""):
        if path != "apiVersion":
            fate = "dropped" if instead is None else f"replaced by {_text(instead)}"
            # Every emitted object names the tool that applies it.
            lost = path != f"metadata.labels['{MANAGED_BY_LABEL}']"
            yield Note(described(manifest), f"`{path}: {_text(value)}` is {fate}", lost=lost)


def _declared(manifest: Manifest) -> dict[str, object]:
    """Return the declared fields of an object, without those of the API server and Apportion."""
    found = {key: value for key, value in manifest.items() if key != "status"}
    if "spec" in found and (spec := current_spec(manifest)) is not None:
        found["spec"] = spec
    metadata = manifest.get("metadata")
    if isinstance(metadata, Mapping):
        kept = {key: value for key, value in metadata.items() if key not in _SERVER_METADATA}
        for section in ("labels", "annotations"):
            if isinstance(kept.get(section), Mapping):
                kept[section] = {
                    key: value for key, value in kept[section].items() if not _is_kept_by_tools(key, value)
                }
        found["metadata"] = kept
    return found


def _is_kept_by_tools(key: str, value: object) -> bool:
    return (
        key == LAST_APPLIED_ANNOTATION
        or key.partition("/")[0] in _TOOLS
        or key.startswith(f"{APPORTION}/")
        or (key == MANAGED_BY_LABEL and value == MANAGER)
    )


def _different(declared: object, made: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Yield each leaf that is missing or different, with the emitted value."""
    if isinstance(declared, Mapping) and isinstance(made, Mapping):
        for key, value in declared.items():
            yield from _different(value, made.get(key), _below(path, str(key)))
    elif isinstance(declared, list | tuple) and isinstance(made, list | tuple):
        # The order of a queue's children is insignificant.
        named = {_item_name(item): item for item in made} if path.endswith(".children") else None
        for place, value in enumerate(declared):
            instead = made[place] if place < len(made) else None
            yield from _different(value, instead if named is None else named.get(_item_name(value)), f"{path}[{place}]")
    elif isinstance(declared, str) and isinstance(made, str) and path.endswith(".yaml"):
        yield from _different(_document(declared), _document(made), path)
    elif isinstance(declared, Mapping | list | tuple):
        for below, value in _leaves(declared, path):
            yield below, value, made
    elif declared is not None and not same_value(declared, made):
        yield path, declared, made


def _item_name(item: object) -> str | None:
    """Return the name of a list item; None if it has none."""
    return text(item, "name")


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from _leaves(held, _below(path, str(key)))
    elif isinstance(value, list | tuple):
        for place, held in enumerate(value):
            yield from _leaves(held, f"{path}[{place}]")
    elif value is not None:
        yield path, value


def _below(path: str, key: str) -> str:
    step = f"['{key}']" if "/" in key else key
    return f"{path}{'' if not path or step.startswith('[') else '.'}{step}"


def _document(written: str) -> object:
    try:
        return yaml.safe_load(written)
    except yaml.YAMLError:
        return written


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
