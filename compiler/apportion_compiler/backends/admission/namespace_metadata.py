"""Labels and annotations of the policy's namespaces: their queue, and what their workloads may use."""

from __future__ import annotations

from apportion_compiler.backends.metadata import GROUP

QUEUE_LABEL = f"{GROUP}/queue"
"""The queue's id, as a label value. A namespace belongs to the policy if it has this label."""
QUEUES_ANNOTATION = f"{GROUP}/queues"
"""Queue names that workloads may use, separated by commas."""
CLASSES_ANNOTATION = f"{GROUP}/priority-classes"
"""Priority classes that workloads may use, separated by commas."""
SHARING_ANNOTATION = f"{GROUP}/gpu-sharing"
"""`true` if workloads may request fractions of a GPU."""
