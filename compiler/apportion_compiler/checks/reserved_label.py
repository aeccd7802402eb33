"""AP124: a queue sets a label that is reserved for Kubernetes, an engine or a cluster add-on.

Labels of queues are copied to Namespaces, where `pod-security.kubernetes.io/enforce: privileged` disables a protection,
so the rule is required. AP613 checks labels of node pools.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.reserved_names import label_owner

RESERVED_LABEL = Rule(
    "AP124",
    "reserved-label",
    Severity.ERROR,
    "a queue sets a label reserved by Kubernetes or a cluster component",
    required=True,
)


def reserved_label(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Check the key of each label of each queue."""
    for declared in declarations.queues:
        queue = declared.queue
        for key, value in queue.labels.items():
            owner = label_owner(key)
            if owner is not None:
                yield Diagnostic(
                    RESERVED_LABEL,
                    f"queue {queue.id}",
                    f"`{queue.id}` sets the label {key}={value}, which belongs to {owner}",
                    queue.source,
                    hint=f"remove {key} from `labels`, or use your own domain, such as "
                    f"`{declarations.policy.organisation.name}.example/{key.rpartition('/')[2]}`",
                )
