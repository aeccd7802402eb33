"""PodDisruptionBudgets as kube-scheduler's preemption reads them: a preference between victims, not a protection.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apportion_runtime.admission.objects import name_of, namespace_of, nested
from apportion_runtime.core.label_requirements import matches
from apportion_runtime.core.pod_constraints import Expression
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.sim.engine import reading
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.kubernetes.terms import label_selector

KIND = "PodDisruptionBudget"


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A budget.

    Attributes:
        namespace: Its namespace.
        selector: The requirements of its selector, at least one.
        allowed: Pods that may be disrupted, as the disruption controller counted them.
        disrupted: Names of the pods that it has already counted.
    """

    namespace: str
    selector: tuple[Expression, ...]
    allowed: int
    disrupted: frozenset[str]

    def covers(self, pod: Pod) -> bool:
        """Return whether the disruption of a pod would be counted."""
        return (
            pod.namespace == self.namespace
            and bool(pod.labels)
            and pod.name not in self.disrupted
            and all(matches(each, pod.labels) for each in self.selector)
        )


def disruption_budgets(objects: Iterable[Manifest]) -> tuple[DisruptionBudget, ...]:
    """Return the budgets that select pods; a budget with a missing or empty selector selects none.

    Raises:
        UnreadableError: For a budget that cannot be read.
    """
    return tuple(_budgets(objects))


def _budgets(objects: Iterable[Manifest]) -> Iterator[DisruptionBudget]:
    for made in objects:
        with reading(f"{KIND} {namespace_of(made)}/{name_of(made)}"):
            selector = label_selector(nested(made, "spec", "selector"))
            allowed = int(nested(made, "status", "disruptionsAllowed") or 0)
            disrupted = frozenset(nested(made, "status", "disruptedPods") or ())
        if selector:
            yield DisruptionBudget(namespace_of(made), selector, allowed, disrupted)


def violating(pods: Sequence[PodFacts], budgets: Sequence[DisruptionBudget]) -> frozenset[str]:
    """Return the uids of the pods whose disruption, after that of the earlier ones, exceeds a budget."""
    if not budgets:
        return frozenset()
    left = [budget.allowed for budget in budgets]
    found: set[str] = set()
    for pod in pods:
        for number, budget in enumerate(budgets):
            if budget.covers(pod.record):
                left[number] -= 1
                if left[number] < 0:
                    found.add(pod.uid)
    return frozenset(found)
