"""A pool name with one wrong digit: the intended one is suggested if it is unique."""

from __future__ import annotations

from datetime import date

from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_policy import Accelerator, Fixed, NodePool, Organisation, Policy, Queue


def _found(named: str, *known: str) -> Diagnostic:
    pools = tuple(
        NodePool(id=id_, provider=Fixed(), accelerator=Accelerator(model="h100", count=8), max_nodes=1) for id_ in known
    )
    queues = (Queue(id="vision", namespaces=("vision",), pools=(named,)),)
    policy = Policy(organisation=Organisation(name="acme"), queues=queues, node_pools=pools)
    (found,) = (d for d in check_policy(policy, date(2026, 11, 21)).diagnostics if d.code == "AP109")
    return found


def test_similar_pool_name_is_suggested() -> None:
    found = _found("h100-pool1", "h100-pool2", "l4-pool")
    assert (
        found.hint
        == "use `h100-pool2` if you mean that pool; otherwise, add `h100-pool1` to `node_pools` in the policy"
    )
    assert found.fix is not None
    assert (found.fix.path, found.fix.value) == (("pools", "0"), "h100-pool2")


def test_ambiguous_pool_name_has_no_suggestion() -> None:
    found = _found("h100-pool3", "h100-pool1", "h100-pool2")
    assert (found.hint, found.fix) == ("add it to `node_pools` in the policy, or remove the reference", None)
