"""Findings name the actual cause, and their hints are actionable."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Severity
from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    ProvisioningPlan,
    Queue,
    QueueOverride,
    Resources,
)

AS_OF = date(2026, 11, 21)
PLAN = ProvisioningPlan(id="dws")


def _pool(id_: str, model: str, **fields: Any) -> NodePool:
    return NodePool(
        id=id_, cpu=96, memory="1Ti", accelerator=Accelerator(model=model, count=8), **{"max_nodes": 4, **fields}
    )


def _found(code: str, *, queues: tuple[Queue, ...], pools: tuple[NodePool, ...], **fields: Any) -> list[Diagnostic]:
    clusters = fields.pop("clusters", None) or (_cluster("gpu-1", pools),)
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=queues,
        node_pools=fields.pop("declared", pools),
        provisioning_plans=(PLAN,),
        environments=(Environment(name="prod", clusters=clusters),),
        **fields,
    )
    return [d for d in check_policy(policy, AS_OF).diagnostics if d.code == code]


def _cluster(name: str, pools: tuple[NodePool, ...]) -> Cluster:
    return Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0", pools=pools)


def test_queued_nodes_do_not_back_guarantees() -> None:
    queued = _pool("h100-dws", "h100", provisioning=PLAN, provider=Gke())
    vision = Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 40}))
    more = Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 80}))
    (over,) = _found("AP601", queues=(more,), pools=(_pool("h100", "h100"), queued))
    assert over.effective_severity is Severity.ERROR
    (found,) = _found("AP601", queues=(vision,), pools=(_pool("h100", "h100"), queued))
    assert found.message == "guarantees add up to 40 H100, but prod/gpu-1 has 32 H100 on 4 nodes"
    assert "h100-dws" not in str(found.hint)
    said = "nodes of `h100-dws` are provisioned on request and may be unavailable, so they do not back guarantees"
    assert said in [related.message for related in found.related]
    assert found.effective_severity is Severity.WARNING
    (alone,) = _found("AP601", queues=(vision,), pools=(queued,))
    assert alone.message == "guarantees add up to 40 GPUs, but prod/gpu-1 has 0 GPUs"
    assert "raise max_nodes" not in str(alone.hint)


def test_missing_models_are_not_attributed_to_the_share() -> None:
    vision = Queue(id="vision", namespaces=("vision",), guaranteed=Resources(cpu=8, memory="8Gi", gpu={"h100": 8}))
    serving = PriorityClass(name="serving", value=200, preemptible=False)
    h100, l4 = _pool("h100", "h100"), _pool("l4", "l4")
    found = _found(
        "AP206",
        queues=(vision,),
        pools=(h100, l4),
        clusters=(_cluster("big", (h100,)), _cluster("small", (l4,))),
        priority_classes=(serving,),
    )
    assert [d.scope for d in found] == ["prod/small"]
    assert "counts as 0 GPUs on `small` because its node pools have no H100" in found[0].message
    assert "share" not in found[0].message + str(found[0].hint)


def test_override_to_zero_is_reported() -> None:
    assistant = Queue(id="assistant", namespaces=("a",), guaranteed=Resources(gpu=8, cpu=40, memory="100Gi"))
    pools = (_pool("h100", "h100"),)
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(assistant,),
        node_pools=pools,
        environments=(
            Environment(
                name="dev",
                clusters=(_cluster("gpu-1", pools),),
                overrides=(QueueOverride(queue="assistant", guaranteed=Resources(gpu=0)),),
            ),
        ),
    )
    (found,) = (d for d in check_policy(policy, AS_OF).diagnostics if d.code == "AP206")
    assert found.message == (
        "with the override, `assistant` is guaranteed 0 GPUs, so its non-preemptible workloads (build, inference) that "
        "request GPUs cannot run: KAI Scheduler limits them to the guarantee"
    )
    assert found.at == policy.environments[0].overrides[0].source


@pytest.mark.parametrize(("name", "near"), [("cpus", "cpu"), ("h10", "h100"), ("h1000", "h100"), ("l40", None)])
def test_misspelt_pool_gets_a_suggestion(name: str, near: str | None) -> None:
    pools = (_pool("cpu", "a100"), _pool("h100", "h100"))
    (found,) = _found("AP109", queues=(Queue(id="v", pools=(name,)),), pools=pools)
    expected = f"use `{near}` if you mean that pool; otherwise, add `{name}` to `node_pools` in the policy"
    assert found.hint == (expected if near else "add it to `node_pools` in the policy, or remove the reference")
    assert (found.fix and found.fix.value) == near


def test_missing_pool_gets_no_unrelated_suggestion() -> None:
    left_out, other = _pool("h100-eu", "h100"), _pool("h100-us", "h100")
    vision = Queue(id="vision", namespaces=("vision",))
    (found,) = _found("AP109", queues=(vision,), pools=(left_out,), declared=(other,))
    assert found.hint == "add it to `node_pools` in the policy, or remove the reference"
    assert found.fix is None
