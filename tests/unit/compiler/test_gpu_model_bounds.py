"""Limits on one GPU model, on engines that count GPUs of all models together."""

from __future__ import annotations

from typing import Any, cast

import pytest

from apportion_compiler.backends import BACKENDS
from apportion_policy import UNLIMITED, Engine, NodePool, Queue, Resources

from .quota_programs import gpu_pool, program_of

BOTH = (gpu_pool("h100"), gpu_pool("l4"))


@pytest.mark.parametrize("engine", [Engine.ACK, Engine.YUNIKORN, Engine.NATIVE])
@pytest.mark.parametrize(
    ("limit", "pools", "lost"),
    [
        ({"h100": 4}, BOTH, "gpu/h100"),
        ({"h100": UNLIMITED, "l4": 4}, BOTH, "gpu/l4"),
        ({"h100": UNLIMITED}, BOTH, None),
        ({"h100": 4, "l4": 4}, BOTH, None),
        ({"h100": 4}, BOTH[:1], None),
        ({"h100": 4}, (), None),
    ],
)
def test_unenforceable_model_limit_is_refused(
    engine: Engine, limit: dict[str, int], pools: tuple[NodePool, ...], lost: str | None
) -> None:
    queue = Queue(id="a", namespaces=("a",), limit=Resources(gpu=limit))
    refused = [
        (refusal.code, refusal.address, refusal.message.partition(":")[0])
        for refusal in BACKENDS[engine.value].refusals(program_of(engine, queue, pools=pools))
    ]
    assert refused == ([("AP514", "queue a", f"limits on only some GPU models ({lost})")] if lost else [])


def test_single_model_limit_becomes_a_borrowing_limit() -> None:
    """Nobody speaks of GPUs but of that one model's, and still they are not everybody's without a bound."""
    queue = Queue(id="a", namespaces=("a",), limit=Resources(gpu={"h100": 4}))
    program = program_of(Engine.KUEUE, queue, pools=BOTH)
    assert "gpu" not in program.unmanaged
    (made,) = [m for m in BACKENDS["kueue"].emit(program).manifests if m["kind"] == "ClusterQueue"]
    groups = cast("Any", made["spec"])["resourceGroups"]
    quotas = {f["name"]: f["resources"] for group in groups for f in group["flavors"] if f["name"] in {"h100", "l4"}}
    assert quotas == {
        "h100": [{"name": "nvidia.com/gpu", "nominalQuota": "0", "borrowingLimit": "4"}],
        "l4": [{"name": "nvidia.com/gpu", "nominalQuota": "0"}],
    }
