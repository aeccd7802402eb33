"""PriorityClass (scheduling.k8s.io), which each engine interprets differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import read_all
from apportion_compiler.backends.metadata import MANAGED_BY_LABEL
from apportion_compiler.readers.record import Manifest, PriorityClassRecord

_KUBERNETES_OWN = "system-"


def priority_classes(
    manifests: Sequence[Manifest], preemptible: Callable[[str, int], bool | None]
) -> Iterator[PriorityClassRecord]:
    """Yield the classes, without Kubernetes' own, by value and name.

    Args:
        manifests: Objects of any kind.
        preemptible: Returns the preemptibility of a class on the engine, by name and value.
    """
    found: dict[str, PriorityClassRecord] = {}
    for cls in read_all(PriorityClass, manifests):
        name, value = cls.name, cls.value or 0
        if name and not name.startswith(_KUBERNETES_OWN):
            found[name] = PriorityClassRecord(
                name,
                value,
                preemptible(name, value),
                cls.is_default is True,
                cls.description,
                cls.labels.get(MANAGED_BY_LABEL) == "Helm",
            )
    yield from sorted(found.values(), key=lambda cls: (cls.value, cls.name))
