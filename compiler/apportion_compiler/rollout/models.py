"""The models of the engines whose queues need an order among themselves.

Kueue's webhooks evaluate each object alone, YuniKorn and ACK read one object that holds the whole tree, and Kubernetes'
own quotas know no parents: there the order in which a backend writes is enough, and deletion in reverse.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engines.registry import EngineParts, engine_parts
from apportion_compiler.rollout.queue_state import Model

MODELS: Mapping[str, Model] = EngineParts(engine_parts("updates", "MODEL"))
"""By the engine's name."""
