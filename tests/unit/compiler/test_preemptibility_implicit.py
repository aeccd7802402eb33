"""AP405 names the engines of the policy, and what they make of a class that is non-preemptible by its value."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.checks.preemptibility_implicit import preemptibility_implicit
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, PriorityClass

VERSIONS = {
    Engine.KAI: "0.17.0",
    Engine.KUEUE: "0.18.3",
    Engine.VOLCANO: "1.13.0",
    Engine.ACK: "1.21",
    Engine.KOORDINATOR: "1.8.0",
    Engine.YUNIKORN: "1.8.0",
    Engine.NATIVE: "1.34",
}
LIMITS = "limits their workloads to the queue's guarantee"


def findings(engines: tuple[Engine, ...], *classes: PriorityClass) -> list[tuple[str, str | None, bool]]:
    """Message, hint and whether there is a fix."""
    clusters = tuple(Cluster(name=e.value, engine=e, engine_version=VERSIONS[e]) for e in engines)
    policy = Policy(
        organisation=Organisation(name="acme"),
        priority_classes=classes,
        environments=(Environment(name="prod", clusters=clusters),) if clusters else (),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return [(each.message, each.hint, each.fix is not None) for each in preemptibility_implicit(graph)]


URGENT = PriorityClass(name="urgent", value=1000)


@pytest.mark.parametrize(
    ("engines", "consequence", "has_fix"),
    [
        ((Engine.KAI,), f"and KAI Scheduler {LIMITS}", True),
        ((Engine.KOORDINATOR,), f"and Koordinator {LIMITS}", True),
        ((Engine.VOLCANO,), "and Volcano does not evict their workloads", True),
        ((Engine.YUNIKORN,), "and YuniKorn does not evict their workloads", True),
        ((Engine.KUEUE,), "but Kueue reclaims borrowed quota regardless of priority class", False),
        (
            (Engine.KAI, Engine.ACK, Engine.VOLCANO),
            "and KAI Scheduler and ACK limit their workloads to the queue's guarantee, and Volcano does not evict their workloads",
            True,
        ),
    ],
)
def test_message_names_the_engines_of_the_policy(
    engines: tuple[Engine, ...], consequence: str, *, has_fix: bool
) -> None:
    ((message, _, fix),) = findings(engines, URGENT)
    start = "`urgent` has value 1000 but does not set `preemptible`: classes with a value of 100 or more are non-preemptible, "
    assert (message, fix) == (start + consequence, has_fix)


def test_plain_kubernetes_requires_a_higher_class() -> None:
    assert findings((Engine.NATIVE,), URGENT) == []
    higher = PriorityClass(name="top", value=2000, preemptible=False)
    ((message, hint, _),) = findings((Engine.NATIVE,), URGENT, higher)
    assert message.endswith("non-preemptible, but kube-scheduler preempts such pods for `top` (value 2000)")
    assert hint == "set `preemptible=True`, because no engine in the policy protects its workloads from eviction"
