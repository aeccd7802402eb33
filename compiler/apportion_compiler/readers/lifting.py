"""Everything that objects say of an engine's queues: its reader's word, completed by what Apportion emits beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apportion_compiler.readers import READERS
from apportion_compiler.readers.admission import admission_facts
from apportion_compiler.readers.namespaces import with_namespaces
from apportion_compiler.readers.record import Lifted, Manifest


def lift(engine: str, manifests: Sequence[Manifest]) -> Lifted:
    """Return what a reader lifts, with namespaces and the preemptibility of classes where only other objects say them.

    Raises:
        KeyError: If there is no reader of that name.
        ValueError: Where a value cannot be read.
    """
    lifted = READERS[engine].read(manifests)
    facts = admission_facts(manifests)
    if facts is not None:
        classes = (
            replace(cls, preemptible=facts.is_preemptible(cls.name)) if cls.preemptible is None else cls
            for cls in lifted.priority_classes
        )
        lifted = replace(lifted, priority_classes=tuple(classes))
    return with_namespaces(lifted, manifests)
