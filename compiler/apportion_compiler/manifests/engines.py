"""Which engines a set of manifests is for: by the groups of its objects, and by what its workloads name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apportion_compiler.plain_objects import group_of, name_of

NATIVE = "native"
"""The API server's own rules hold of every object."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """What tells that an object is for an engine: API groups, kinds of shared groups, prefixes of keys, schedulers."""

    groups: tuple[str, ...] = ()
    kinds: tuple[tuple[str, str], ...] = ()
    keys: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()


_MARKS: Mapping[str, _Marks] = {
    "kai": _Marks(("scheduling.run.ai", "kai.scheduler"), keys=("kai.scheduler/",), schedulers=("kai-scheduler",)),
    "kueue": _Marks(("kueue.x-k8s.io", "config.kueue.x-k8s.io"), keys=("kueue.x-k8s.io/",)),
    "volcano": _Marks(
        ("scheduling.volcano.sh", "batch.volcano.sh", "topology.volcano.sh", "bus.volcano.sh", "flow.volcano.sh"),
        keys=("volcano.sh/", "scheduling.volcano.sh/"),
        schedulers=("volcano",),
    ),
    "koordinator": _Marks(
        ("quota.koordinator.sh", "scheduling.koordinator.sh", "config.koordinator.sh"),
        (("scheduling.sigs.k8s.io", "ElasticQuota"), ("scheduling.sigs.k8s.io", "PodGroup")),
        ("quota.scheduling.koordinator.sh/", "gang.scheduling.koordinator.sh/"),
        ("koord-scheduler",),
    ),
    "ack": _Marks(
        (),
        (("scheduling.sigs.k8s.io", "ElasticQuotaTree"), ("scheduling.x-k8s.io", "Queue")),
        ("kube-queue/", "quota.scheduling.alibabacloud.com/"),
    ),
    "yunikorn": _Marks(
        keys=("yunikorn.apache.org/",),
        schedulers=("yunikorn",),
        config_maps=("yunikorn-configs", "yunikorn-defaults"),
    ),
}


def engines_of(manifests: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the engines that the objects are for, in a fixed order, the API server's own rules last."""
    found: set[str] = set()
    for manifest in manifests:
        found.update(_engines(manifest, found))
    return (*(engine for engine in _MARKS if engine in found), NATIVE)


def _engines(manifest: Mapping[str, object], known: set[str]) -> Iterator[str]:
    group, kind = group_of(manifest), str(manifest.get("kind"))
    named: tuple[set[str], set[str]] | None = None
    for engine, marks in _MARKS.items():
        if engine in known:
            continue
        if group in marks.groups or (group, kind) in marks.kinds:
            yield engine
            continue
        if kind == "ConfigMap" and not group and name_of(manifest) in marks.config_maps:
            yield engine
            continue
        if named is None:
            named = _named(manifest)
        keys, schedulers = named
        if any(key.startswith(marks.keys) for key in keys) or schedulers & set(marks.schedulers):
            yield engine


def _named(manifest: Mapping[str, object]) -> tuple[set[str], set[str]]:
    """Return the keys of labels and annotations anywhere in an object, and the schedulers that it names."""
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
