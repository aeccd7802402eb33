"""PriorityClass (scheduling.k8s.io), which every engine reads in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from apportion_compiler.plain_objects import integer, labels_of, name_of, of_kind, text
from apportion_compiler.readers.record import Manifest, PriorityClassRecord

_KUBERNETES_OWN = "system-"


def priority_classes(
    manifests: Sequence[Manifest], preemptible: Callable[[str, int], bool | None]
) -> Iterator[PriorityClassRecord]:
    """Yield the classes, without Kubernetes' own, by value and name.

    Args:
        manifests: Objects of any kind.
        preemptible: What the engine makes of a class's name and value.
    """
    found: dict[str, PriorityClassRecord] = {}
    for manifest in of_kind(manifests, "scheduling.k8s.io", "PriorityClass"):
        name = name_of(manifest)
        value = integer(manifest, "value") or 0
        if name and not name.startswith(_KUBERNETES_OWN):
            found[name] = PriorityClassRecord(
                name,
                value,
                preemptible(name, value),
                manifest.get("globalDefault") is True,
                text(manifest, "description"),
                labels_of(manifest).get("app.kubernetes.io/managed-by") == "Helm",
            )
    yield from sorted(found.values(), key=lambda cls: (cls.value, cls.name))
