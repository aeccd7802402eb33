"""The engines whose queues have shares of GPUs, and why Kubernetes has none.

An engine's functions are loaded when a cluster needs them.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engines.registry import EngineParts
from apportion_review.shares.division_records import DivisionInputs, ShareProof
from apportion_review.shares.records import Demand
from apportion_review.shares.share_engine import ShareEngine

ENGINE_SHARES: Mapping[str, ShareEngine] = EngineParts(
    {
        engine: f"apportion_review.shares.{engine}:SHARES"
        for engine in ("ack", "kai", "koordinator", "kueue", "volcano", "yunikorn")
    }
)
NO_SHARES: Mapping[str, str] = {
    "native": "Kubernetes has no fair sharing: a ResourceQuota only limits a namespace, and pods start in order of "
    "priority, so no queue has a share.",
}
"""Reasons why other engines have no shares."""


def has_shares(engine: str) -> bool:
    """Return whether the queues of an engine have shares of GPUs."""
    return engine in ENGINE_SHARES


def engine_note(engine: str) -> str:
    """Return what the shares of an engine mean, or why it has none; empty for fair shares, and for no engine."""
    return ENGINE_SHARES[engine].note if engine in ENGINE_SHARES else NO_SHARES.get(engine, "")


def proof_of(side: str, demand: Demand, inputs: DivisionInputs) -> ShareProof:
    """Return the divisions that lead to the shares of all queues."""
    return ShareProof(side, demand, inputs, tuple(ENGINE_SHARES[inputs.engine].divisions(inputs)))
