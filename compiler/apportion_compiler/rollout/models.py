"""Update models of the engines whose queues must be updated in order.

Kueue's webhooks evaluate each object alone, YuniKorn and ACK read one object with the whole tree, and Kubernetes' own
quotas have no parents: for these, the apply order of the backend is enough, with deletion in reverse.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engines.registry import EngineParts, engine_parts
from apportion_compiler.rollout.queue_state import Model

MODELS: Mapping[str, Model] = EngineParts(engine_parts("updates", "MODEL"))
"""By the engine's name."""
