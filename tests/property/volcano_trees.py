"""Random trees of Volcano's queues that its webhook accepts, generated independently of the compiler."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .cached_strategies import booleans, integers, sampled_from

Tree = list[dict[str, Any]]

NAMES = ("a", "b", "c", "d", "e", "f", "g")
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "example.com/fpga")
_MAX_DEPTH = 5
_SOME_NAMES = st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Draw a tree of at most five levels whose sums fit and whose limits decrease downwards; parents first."""
    names = draw(_SOME_NAMES)
    parents: dict[str, str] = {}
    depth = {"root": 0}
    for name in names:
        above = [other for other in ("root", *parents) if depth[other] < _MAX_DEPTH]
        parents[name] = draw(sampled_from(above))
        depth[name] = depth[parents[name]] + 1
    made: dict[str, dict[str, Any]] = {}
    widest: dict[str, dict[str, int]] = {}
    for name in reversed(names):
        below = [child for child in names if parents[child] == name]
        limits = {r: max((widest[child][r] for child in below), default=0) for r in RESOURCES}
        made[name] = _queue(draw, name, parents[name], [made[child] for child in below], limits)
        own = made[name]["spec"]["capability"]
        widest[name] = {r: max(limits[r], int(own.get(r, 0))) for r in RESOURCES}
    return [made[name] for name in names]


def _queue(draw: st.DrawFn, name: str, parent: str, below: Tree, limits: dict[str, int]) -> dict[str, Any]:
    deserved: dict[str, int] = {}
    guarantee: dict[str, int] = {}
    capability: dict[str, int] = {}
    for resource in RESOURCES:
        specs = [child["spec"] for child in below]
        needed = [int(spec["deserved"][resource]) for spec in specs if resource in spec["deserved"]]
        kept = [int(spec["guarantee"]["resource"].get(resource, -1)) for spec in specs]
        if bool(needed) or draw(booleans):
            deserved[resource] = sum(needed) + draw(integers(0, 3))
        own = max(0, sum(amount for amount in kept if amount >= 0))
        if resource in deserved and (max(kept, default=-1) >= 0 or draw(booleans)):
            guarantee[resource] = draw(integers(own, deserved[resource]))
        if draw(booleans):
            capability[resource] = max(deserved.get(resource, 0), limits[resource]) + draw(integers(0, 3))
    spec: dict[str, Any] = {"parent": parent, "deserved": _texts(deserved), "capability": _texts(capability)}
    spec["guarantee"] = {"resource": _texts(guarantee)}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def _texts(amounts: dict[str, int]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}
