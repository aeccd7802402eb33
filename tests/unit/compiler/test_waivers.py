"""Severity is configurable, except for required rules; a waiver suppresses visibly or is reported as unused."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import Severity, has_errors
from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    Queue,
    Resources,
    Rules,
    RuleSeverity,
    Waiver,
)

AS_OF = date(2026, 11, 21)
ACME = Organisation(name="acme", owner="@acme/platform")
OVERSUBSCRIBED = (
    Queue(id="research", guaranteed=Resources(gpu=8), children=(Queue(id="vision", guaranteed=Resources(gpu=9)),)),
)
CYCLE = (Queue(id="research", parent="research"),)


def waiver(code: str, address: str, expires: date = AS_OF) -> Waiver:
    return Waiver(code=code, address=address, reason="agreed", owner="@acme/platform", expires=expires)


def codes(policy: Policy) -> list[tuple[str, bool]]:
    """Codes of the families in question, each with whether it is suppressed."""
    found = check_policy(policy, AS_OF).diagnostics
    return [
        (d.code, d.suppression is not None) for d in found if d.code in {"AP102", "AP109", "AP201", "AP114", "AP113"}
    ]


def test_waived_finding_is_shown_and_does_not_fail() -> None:
    policy = Policy(organisation=ACME, queues=OVERSUBSCRIBED, waivers=(waiver("AP201", "queue research"),))
    assert codes(policy) == [("AP201", True)]
    assert not has_errors(d for d in check_policy(policy, AS_OF).diagnostics if d.code == "AP201")


@pytest.mark.parametrize("severity", [RuleSeverity.WARNING, RuleSeverity.OFF])
def test_required_rule_cannot_be_downgraded(severity: RuleSeverity) -> None:
    policy = Policy(
        organisation=ACME,
        queues=CYCLE,
        rules=Rules(severity={"AP102": severity}),
        waivers=(waiver("AP102", "queue research"),),
    )
    checked = check_policy(policy, AS_OF)
    assert checked.graph is None
    assert {(d.code, d.effective_severity, d.suppression) for d in checked.diagnostics} == {
        ("AP102", Severity.ERROR, None),
        ("AP109", Severity.ERROR, None),
        ("AP123", Severity.ERROR, None),
    }


def test_waiver_of_a_disabled_rule_is_unused() -> None:
    policy = Policy(
        organisation=ACME,
        queues=OVERSUBSCRIBED,
        rules=Rules(severity={"AP201": RuleSeverity.OFF}),
        waivers=(waiver("AP201", "queue research"),),
    )
    assert codes(policy) == [("AP114", False)]


def test_unused_waiver_can_be_waived_itself() -> None:
    unused = waiver("AP201", "queue vision")
    policy = Policy(organisation=ACME, waivers=(unused, waiver("AP114", "waiver AP201 queue vision")))
    assert codes(policy) == [("AP114", True)]
    assert codes(Policy(organisation=ACME, waivers=(waiver("AP114", "waiver AP201 queue vision"),))) == [
        ("AP114", False)
    ]


@pytest.mark.parametrize("code", ["AP115", "AP201", "AP507", "AP601", "AP701"])
def test_waiver_of_an_unknown_object_is_reported(code: str) -> None:
    policy = Policy(organisation=ACME, queues=(Queue(id="vision"),), waivers=(waiver(code, "queue visoin"),))
    unused = [d for d in check_policy(policy, AS_OF).diagnostics if d.code == "AP114"]
    assert [d.hint for d in unused] == ["queue visoin does not exist: change it to queue vision, or remove the waiver"]


def test_waiver_of_an_engine_refusal_is_used() -> None:
    cluster = Cluster(name="cpu", engine=Engine.NATIVE, engine_version="1.34", kubernetes_version="1.34")
    policy = Policy(
        organisation=ACME,
        environments=(Environment(name="dev", clusters=(cluster,)),),
        queues=(Queue(id="vision", namespaces=("vision",), guaranteed=Resources(cpu=8)),),
        waivers=(waiver("AP506", "queue vision"),),
    )
    found = check_policy(policy, AS_OF).diagnostics
    assert [(d.code, d.suppression is not None) for d in found if d.code in ("AP506", "AP114")] == [("AP506", True)]


def test_expired_waiver_suppresses_nothing() -> None:
    expired = waiver("AP201", "queue research", date(2026, 11, 20))
    assert sorted(codes(Policy(organisation=ACME, queues=OVERSUBSCRIBED, waivers=(expired,)))) == [
        ("AP113", False),
        ("AP201", False),
    ]
