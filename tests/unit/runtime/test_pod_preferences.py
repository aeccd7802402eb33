"""Placement of pods with preferred affinity, in both directions: each row is the engine's rule."""

from __future__ import annotations

import pytest

from apportion_runtime.core.pod_constraints import Expression, PodPreference, PodTerm
from apportion_runtime.core.snapshot import Node

from .clusters import Made, job, node, queue, run

WEB = (Expression("app", "In", ("web",)),)
HOST = "kubernetes.io/hostname"


def near(weight: int = 10, key: str = HOST, **changes: object) -> dict[str, object]:
    """Return fields of a pod that prefers pods of the application `web`; a negative weight is against them."""
    return {"pod_preferences": (PodPreference(PodTerm(key, WEB), weight),), **changes}


def nodes(*names: str) -> tuple[Node, ...]:
    return tuple(node(name, labels={HOST: name, "zone": name[0]}) for name in names)


def place(*jobs: Made) -> str | None:
    """Return where the pod of the job `new` goes, on three empty nodes."""
    session = run(list(nodes("a1", "b1", "b2")), [queue("all"), queue("q", "all")], list(jobs))
    task = session.jobs["new"].tasks["new-0"]
    return None if task.node is None or task.node < 0 else session.nodes.names[task.node]


RUNNING_WEB = job("web", "q", gpus=2, on="b1", pod={"labels": {"app": "web"}})
RULES = {
    "it goes where its company is, though packing says otherwise": (
        (job("busy", "q", gpus=4, on="a1"), RUNNING_WEB, job("new", "q", pod=near())),
        "b1",
    ),
    "it keeps away from whom it would rather not meet": (
        (RUNNING_WEB, job("new", "q", pod=near(-10))),
        "a1",
    ),
    "company counts in the whole domain of the term": (
        (job("full", "q", gpus=6, on="b1"), RUNNING_WEB, job("new", "q", pod=near(key="zone"))),
        "b2",
    ),
    "who runs has preferences, too": (
        (
            job("busy", "q", gpus=4, on="a1"),
            job("fond", "q", on="b2", pod=near()),
            job("new", "q", pod={"labels": {"app": "web"}}),
        ),
        "b2",
    ),
    "weights are added up": (
        (
            RUNNING_WEB,
            job("web2", "q", n=2, gpus=1, on="b2", pod={"labels": {"app": "web"}}),
            job("new", "q", pod=near()),
        ),
        "b2",
    ),
    "pods of other namespaces are not meant": (
        (
            job("busy", "q", gpus=4, on="a1"),
            job("web", "q", gpus=2, on="b1", pod={"labels": {"app": "web"}, "namespace": "other"}),
            job("new", "q", pod=near()),
        ),
        "a1",
    ),
    "a preference that is not available is no obstacle": (
        (job("full", "q", gpus=6, on="b1"), RUNNING_WEB, job("new", "q", pod=near())),
        "a1",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_pod_preferences_decide_the_node(rule: str) -> None:
    jobs, expected = RULES[rule]
    assert place(*jobs) == expected
