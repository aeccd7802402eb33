"""What an engine itself reads on a namespace, beside Apportion's own labels and annotations.

YuniKorn places work by its namespace: the annotation `parentqueue` holds the path of the queue, for the placement rule
`tag` with the value `namespace.parentqueue`, and `namespace.enableYuniKorn` hands the namespace's pods to YuniKorn
(k8shim 23b6b47f, pkg/common/constants/constants.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_compiler.ir.program import Program, Queue

YUNIKORN_DOMAIN = "yunikorn.apache.org"
YUNIKORN_QUEUE_ANNOTATION = f"{YUNIKORN_DOMAIN}/parentqueue"
YUNIKORN_ENABLED_ANNOTATION = f"{YUNIKORN_DOMAIN}/namespace.enableYuniKorn"

KUEUE_DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue gives to work of its namespace that names none (pkg/controller/jobframework/defaults.go)."""

_GUARDED: Mapping[str, tuple[str, ...]] = {"yunikorn": (f"{YUNIKORN_DOMAIN}/",)}


def engine_annotations(program: Program, queue_names: Sequence[str]) -> Mapping[str, str]:
    """Return the annotations of a namespace whose work may name these queues."""
    if program.engine != "yunikorn" or not queue_names:
        return {}
    return {YUNIKORN_QUEUE_ANNOTATION: queue_names[0], YUNIKORN_ENABLED_ANNOTATION: "true"}


def default_names(program: Program, queue: Queue) -> tuple[str, ...]:
    """Return the names that an engine gives to work of a queue's namespaces that names no queue."""
    return (KUEUE_DEFAULT_QUEUE,) if program.engine == "kueue" and queue.default else ()


def guarded_prefixes(program: Program) -> tuple[str, ...]:
    """Return the beginnings of further labels and annotations of namespaces that only the platform may change."""
    return _GUARDED.get(program.engine, ())
