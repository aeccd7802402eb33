"""AP124: a queue sets a label of Kubernetes, an engine or a tool that runs the cluster.

Labels of queues reach Namespaces, where `pod-security.kubernetes.io/enforce: privileged` switches a protection off, so
the rule is required. Labels of node pools have a rule of their own, AP613.
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
    """Look at the key of each label of each queue."""
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
                    hint=f"remove {key} from the labels, or use your own domain, such as "
                    f"`{declarations.policy.organisation.name}.example/{key.rpartition('/')[2]}`",
                )
