"""Random policies with consistent amounts: every queue covers its children, and its limit covers its guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
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

from .cached_strategies import booleans, integers, sampled_from

_RESOURCES = ("cpu", "memory", "gpu", "rdma/hca")
_NAMES = ("alice", "bob", "o.connor@acme.example", "system:serviceaccount:ray:operator", "*")
_CLASSES = (
    PriorityClass(name="low", value=10, preemptible=True),
    PriorityClass(name="mid", value=50, preemptible=True),
    PriorityClass(name="kept", value=1000, preemptible=False),
)
_ROOM = st.none() | st.sampled_from((0, 0, 5, 1000))
"""Distance of a limit above the guarantees; None is no limit."""
_MANAGED = st.lists(st.sampled_from(_RESOURCES), unique=True, min_size=1)
_CLASSES_OF_POLICY = st.sampled_from(((), _CLASSES))
_USERS = st.lists(st.sampled_from(_NAMES), unique=True, max_size=3)
_LIMITED = st.sets(st.sampled_from(_RESOURCES))
_MAX_JOBS = st.none() | st.integers(0, 3)
_PRIORITY = st.none() | st.integers(0, 2**31 - 1)
_TITLE = st.none() | st.just('Ads: "fast" #1')
_LABELS = st.sampled_from(({}, {"cost-centre": "42"}))


@st.composite
def sound_policies(draw: st.DrawFn) -> Policy:
    """Draw a policy of up to ten queues on one cluster without errors of checks."""
    n_queues = draw(integers(1, 10))
    parents: list[int | None] = [draw(sampled_from([None, *range(index)])) for index in range(n_queues)]
    children = {index: [c for c, parent in enumerate(parents) if parent == index] for index in range(n_queues)}
    managed = draw(_MANAGED)
    promised: dict[int, dict[str, int]] = {}
    for index in reversed(range(n_queues)):
        extra = {r: draw(sampled_from((0, 0, 1, 7, 1000))) for r in managed}
        promised[index] = {r: extra[r] + sum(promised[c][r] for c in children[index]) for r in managed}
    ids = [draw(sampled_from(("root", "default", "q0"))), *(f"q{n}" for n in range(1, n_queues))]
    classes = draw(_CLASSES_OF_POLICY)
    queues = []
    bounds: list[dict[str, int]] = []
    for index, parent in enumerate(parents):
        above = {} if parent is None else bounds[parent]
        room = {r: more for r in managed if (more := draw(_ROOM)) is not None}
        # At least one of each, since no workload runs without cpu and memory.
        limit = {r: min(promised[index][r] + 1 + more, above.get(r, 2**60)) for r, more in room.items()}
        bounds.append({**above, **limit})
        fields = _fields(draw, index, is_leaf=not children[index], classes=tuple(c.name for c in classes))
        queues.append(
            Queue(
                id=ids[index],
                parent=None if parent is None else ids[parent],
                guaranteed=_resources(promised[index]) if draw(booleans) or not children[index] else None,
                limit=_resources(limit),
                **fields,
            )
        )
    return Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=tuple(queues),
        priority_classes=classes,
        environments=(Environment(name="prod", clusters=(_cluster(draw),)),),
    )


def _fields(draw: st.DrawFn, index: int, *, is_leaf: bool, classes: tuple[str, ...]) -> Mapping[str, Any]:
    users = draw(_USERS)
    return {
        "namespaces": tuple(f"ns-{index}-{n}" for n in range(draw(integers(0, 2)))) if is_leaf else (),
        "priority": draw(_PRIORITY),
        "priority_classes": (draw(_some(classes)) or None) if is_leaf else None,
        "title": draw(_TITLE),
        "labels": draw(_LABELS),
        "users": tuple(
            UserLimit(
                user=user,
                limit=_resources({r: draw(integers(0, 9)) for r in draw(_LIMITED)}) or Resources(),
                max_jobs=draw(_MAX_JOBS),
            )
            for user in users
        ),
    }


@cache
def _some(classes: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...] | None]:
    some = st.lists(st.sampled_from(classes), unique=True, min_size=1) if classes else st.just([])
    return st.none() | some.map(tuple)


def _cluster(draw: st.DrawFn) -> Cluster:
    placement = draw(sampled_from(list(PlacementStrategy)))
    return Cluster(
        name="c",
        engine=Engine.YUNIKORN,
        engine_version="1.8",
        share=draw(sampled_from(("1", "1/3", "50%"))),
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
