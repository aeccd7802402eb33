"""Detection of the engines of manifests: by the API groups of objects, and by keys in workloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from apportion_compiler.engines.registry import PLAIN_KUBERNETES, TRAITS
from apportion_compiler.plain_objects import group_of, name_of
from apportion_policy.engine import Engine


def engines_of(manifests: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the engines of the objects, in a fixed order, the API server's own rules last."""
    found: set[str] = set()
    for manifest in manifests:
        found.update(_engines(manifest, found))
    return (*(engine.value for engine in Engine if engine.value in found), PLAIN_KUBERNETES)


def _engines(manifest: Mapping[str, object], known: set[str]) -> Iterator[str]:
    group, kind = group_of(manifest), str(manifest.get("kind"))
    named: tuple[set[str], set[str]] | None = None
    for engine, traits in TRAITS.items():
        if engine in known:
            continue
        if group in traits.groups or (group, kind) in traits.shared_kinds:
            yield engine
            continue
        if kind == "ConfigMap" and not group and name_of(manifest) in traits.config_maps:
            yield engine
            continue
        if named is None:
            named = _named(manifest)
        keys, schedulers = named
        if any(key.startswith(traits.key_prefixes) for key in keys) or traits.scheduler in schedulers:
            yield engine


def _named(manifest: Mapping[str, object]) -> tuple[set[str], set[str]]:
    """Return the keys of all labels and annotations of an object, and the schedulers that it names."""
    keys: set[str] = set()
    schedulers: set[str] = set()
    stack: list[object] = [manifest]
    seen: set[int] = set()
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        if isinstance(value, Mapping):
            seen.add(id(value))
            for field in ("labels", "annotations"):
                if isinstance(value.get(field), Mapping):
                    keys.update(map(str, value[field]))
            if isinstance(value.get("schedulerName"), str):
                schedulers.add(value["schedulerName"])
            stack.extend(value.values())
        elif isinstance(value, list):
            seen.add(id(value))
            stack.extend(value)
    return keys, schedulers
