"""Random policies with consistent amounts: every queue covers its children, and its limit covers its guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Placement,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    UserLimit,
)
from apportion_policy.placement import PlacementStrategy

_RESOURCES = ("cpu", "memory", "gpu", "rdma/hca")
_NAMES = ("alice", "bob", "o.connor@acme.example", "system:serviceaccount:ray:operator", "*")
_CLASSES = (
    PriorityClass(name="low", value=10, preemptible=True),
    PriorityClass(name="mid", value=50, preemptible=True),
    PriorityClass(name="kept", value=1000, preemptible=False),
)
_ROOM = st.none() | st.sampled_from((0, 0, 5, 1000))
"""Distance of a limit above the guarantees; None is no limit."""


@st.composite
def sound_policies(draw: st.DrawFn) -> Policy:
    """Draw a policy of up to ten queues on one cluster without errors of checks."""
    n_queues = draw(st.integers(1, 10))
    parents: list[int | None] = [draw(st.sampled_from([None, *range(index)])) for index in range(n_queues)]
    children = {index: [c for c, parent in enumerate(parents) if parent == index] for index in range(n_queues)}
    managed = draw(st.lists(st.sampled_from(_RESOURCES), unique=True, min_size=1))
    promised: dict[int, dict[str, int]] = {}
    for index in reversed(range(n_queues)):
        extra = {r: draw(st.sampled_from((0, 0, 1, 7, 1000))) for r in managed}
        promised[index] = {r: extra[r] + sum(promised[c][r] for c in children[index]) for r in managed}
    ids = [draw(st.sampled_from(("root", "default", "q0"))), *(f"q{n}" for n in range(1, n_queues))]
    classes = draw(st.sampled_from(((), _CLASSES)))
    queues = []
    bounds: list[dict[str, int]] = []
    for index, parent in enumerate(parents):
        above = {} if parent is None else bounds[parent]
        room = {r: more for r in managed if (more := draw(_ROOM)) is not None}
        # At least one of each, since no workload runs without cpu and memory.
        limit = {r: min(promised[index][r] + 1 + more, above.get(r, 2**60)) for r, more in room.items()}
        bounds.append({**above, **limit})
        fields = draw(_fields(index, is_leaf=not children[index], classes=tuple(c.name for c in classes)))
        queues.append(
            Queue(
                id=ids[index],
                parent=None if parent is None else ids[parent],
                guaranteed=_resources(promised[index]) if draw(st.booleans()) or not children[index] else None,
                limit=_resources(limit),
                **fields,
            )
        )
    return Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=tuple(queues),
        priority_classes=classes,
        environments=(Environment(name="prod", clusters=(draw(_clusters()),)),),
    )


@st.composite
def _fields(draw: st.DrawFn, index: int, *, is_leaf: bool, classes: tuple[str, ...]) -> Mapping[str, Any]:
    users = draw(st.lists(st.sampled_from(_NAMES), unique=True, max_size=3))
    some = st.lists(st.sampled_from(classes), unique=True, min_size=1) if classes else st.just([])
    return {
        "namespaces": tuple(f"ns-{index}-{n}" for n in range(draw(st.integers(0, 2)))) if is_leaf else (),
        "priority": draw(st.none() | st.integers(0, 2**31 - 1)),
        "priority_classes": (draw(st.none() | some.map(tuple)) or None) if is_leaf else None,
        "title": draw(st.none() | st.just('Ads: "fast" #1')),
        "labels": draw(st.sampled_from(({}, {"cost-centre": "42"}))),
        "users": tuple(
            UserLimit(
                user=user,
                limit=_resources({r: draw(st.integers(0, 9)) for r in draw(st.sets(st.sampled_from(_RESOURCES)))})
                or Resources(),
                max_jobs=draw(st.none() | st.integers(0, 3)),
            )
            for user in users
        ),
    }


@st.composite
def _clusters(draw: st.DrawFn) -> Cluster:
    placement = draw(st.sampled_from(list(PlacementStrategy)))
    return Cluster(
        name="c",
        engine=Engine.YUNIKORN,
        engine_version="1.8",
        share=draw(st.sampled_from(("1", "1/3", "50%"))),
        placement=Placement(gpu=placement, cpu=placement),
    )


def _resources(amounts: Mapping[str, int]) -> Resources | None:
    """Draw amounts in unusual units: halves of a core, and bytes that are not a multiple of any suffix."""
    fields: dict[str, Any] = {}
    for resource, amount in amounts.items():
        match resource:
            case "cpu":
                fields["cpu"] = f"{amount * 500}m"
            case "memory":
                fields["memory"] = amount * 1_048_577
            case "gpu":
                fields["gpu"] = amount
            case _:
                fields["extended"] = {resource: amount}
    return Resources(**fields) if fields else None
