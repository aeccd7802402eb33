"""What is written on a namespace of the policy: whose it is, and what its work may name."""

from __future__ import annotations

from apportion_compiler.backends.metadata import GROUP

QUEUE_LABEL = f"{GROUP}/queue"
"""The queue's id, as a label value. Its presence is what makes a namespace one of the policy's."""
QUEUES_ANNOTATION = f"{GROUP}/queues"
"""Names that work may give for its queue, comma separated."""
CLASSES_ANNOTATION = f"{GROUP}/priority-classes"
"""Priority classes that work may use, comma separated."""
SHARING_ANNOTATION = f"{GROUP}/gpu-sharing"
"""`true` where work may ask for a part of a GPU."""
