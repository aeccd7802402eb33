"""Values of a queue in each scope: defaults, shares, overrides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.explain import explain_queue
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import PolicyGraph, build_graph
from apportion_policy import (
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Override,
    Policy,
    Queue,
    QueueOverride,
    Resources,
    Weight,
)

TODAY = date(2026, 11, 21)
H100 = NodePool(id="h", max_nodes=4, cpu=96, memory="1Ti", accelerator=Accelerator(model="h100", count=8))
A100 = NodePool(id="a", max_nodes=4, accelerator=Accelerator(model="a100", count=8))


def _graph(
    *queues: Queue, pools: Sequence[NodePool] = (H100, A100), share: str = "1", **environment: Any
) -> PolicyGraph:
    cluster = Cluster(name="c", engine=Engine.KAI, engine_version="0.17.0", pools=tuple(pools), share=share)
    policy = Policy(
        organisation=Organisation(name="acme"),
        queues=queues,
        node_pools=(H100, A100),
        environments=(Environment(name="e", clusters=(cluster,), **environment),),
    )
    return build_graph(declare(policy), TODAY)


def test_unset_guarantee_is_the_sum_of_the_children() -> None:
    values = _graph(Queue(id="p"), *(Queue(id=i, parent="p", guaranteed=Resources(gpu=4)) for i in "ab")).base.values
    assert values["p"].guaranteed == {"gpu": 8000}
    assert "gpu" not in values["p"].declared


def test_unset_guarantee_of_a_leaf_is_zero() -> None:
    values = _graph(Queue(id="a", guaranteed=Resources(cpu=1)), Queue(id="b")).base.values
    assert values["b"].guaranteed == {"cpu": 0}


def test_zero_unset_and_unlimited_differ() -> None:
    values = _graph(
        Queue(id="a", limit=Resources(gpu=0)), Queue(id="b"), Queue(id="c", limit=Resources(gpu=UNLIMITED))
    ).base.values
    assert [values[i].limit for i in "abc"] == [{"gpu": 0}, {}, {"gpu": UNLIMITED}]


def test_models_add_up_to_the_total() -> None:
    values = _graph(Queue(id="a", guaranteed=Resources(gpu={"h100": 8, "a100": 4}))).base.values
    assert values["a"].guaranteed == {"gpu/h100": 8000, "gpu/a100": 4000, "gpu": 12000}


def test_queue_with_models_guarantees_no_other_model() -> None:
    values = _graph(
        Queue(id="p", guaranteed=Resources(gpu={"h100": 8})),
        Queue(id="a", parent="p", guaranteed=Resources(gpu={"a100": 8})),
    ).base.values
    assert values["p"].guaranteed["gpu/a100"] == 0


@pytest.mark.parametrize(
    ("pools", "limit"),
    [((H100, A100), {"gpu/h100": 8000}), ((H100,), {"gpu/h100": 8000, "gpu": 8000}), ((A100,), {})],
)
def test_model_limits_bound_the_total_if_complete(pools: tuple[NodePool, ...], limit: dict[str, int]) -> None:
    [scope] = _graph(Queue(id="a", limit=Resources(gpu={"h100": 8})), pools=pools).scopes
    assert scope.values["a"].limit == limit


def test_machines_are_converted_to_resources() -> None:
    values = _graph(Queue(id="a", guaranteed=Resources(machines={"h": 2}))).base.values
    assert values["a"].guaranteed == {"cpu": 192_000, "memory": 2 * 2**40, "gpu": 16_000, "gpu/h100": 16_000}


def test_share_rounds_guarantees_down_and_limits_up() -> None:
    [scope] = _graph(
        Queue(id="a", guaranteed=Resources(gpu=5, cpu="1001m"), limit=Resources(gpu=5)), share="1/2"
    ).scopes
    assert scope.values["a"].guaranteed == {"gpu": 2000, "cpu": 500}
    assert scope.values["a"].limit == {"gpu": 3000}


def test_fractional_gpus_stay_fractional() -> None:
    [scope] = _graph(Queue(id="a", guaranteed=Resources(gpu="0.5")), share="50%").scopes
    assert scope.values["a"].guaranteed == {"gpu": 250}


def test_models_missing_from_a_cluster_are_ignored() -> None:
    [scope] = _graph(Queue(id="a", guaranteed=Resources(gpu={"h100": 8, "a100": 4})), pools=[A100]).scopes
    assert scope.values["a"].guaranteed == {"gpu/a100": 4000, "gpu": 4000}


def test_timed_override_precedes_environment_override() -> None:
    timed = Override(begin="2026-11-21", end="2026-11-21", reason="r", owner="@o", limit=Resources(gpu=7), priority=9)
    graph = _graph(
        Queue(id="a", limit=Resources(gpu=4, cpu=8), overrides=(timed,)),
        overrides=(QueueOverride(queue="a", limit=Resources(gpu=6), priority=5, over_quota_weight=3),),
    )
    values = graph.scopes[0].values["a"]
    assert values.limit == {"gpu": 7000, "cpu": 8000}
    assert values.priority == 9
    assert values.weight == {"cpu": 3000, "memory": 3000, "gpu": 3000}
    assert values.sources["limit"].line == timed.source.line


@pytest.mark.parametrize(("begin", "end", "holds"), [("2026-11-21", "2026-12-01", True), ("2026-11-01", "2026-11-21", True), ("2026-11-22", "2026-12-01", False), ("2026-11-01", "2026-11-20", False)])  # fmt: skip
def test_override_dates_are_inclusive(begin: str, end: str, *, holds: bool) -> None:
    override = Override(begin=begin, end=end, reason="r", owner="@o", guaranteed=Resources(gpu=8))
    values = _graph(Queue(id="a", guaranteed=Resources(gpu=4), overrides=(override,))).base.values
    assert values["a"].guaranteed == {"gpu": 8000 if holds else 4000}


def test_override_by_model_replaces_total_of_gpus() -> None:
    override = Override(
        begin="2026-01-01", end="2027-01-01", reason="r", owner="@o", guaranteed=Resources(gpu={"h100": 2})
    )
    values = _graph(Queue(id="a", guaranteed=Resources(gpu=4, cpu=1), overrides=(override,))).base.values
    assert values["a"].guaranteed == {"gpu": 2000, "gpu/h100": 2000, "cpu": 1000}


def test_weights_may_differ_by_resource() -> None:
    values = _graph(Queue(id="a", over_quota_weight=Weight(gpu="2.5")), Queue(id="b")).base.values
    assert values["a"].weight == {"cpu": 1000, "memory": 1000, "gpu": 2500}


@given(
    amounts=st.lists(st.integers(0, 100), min_size=1, max_size=6), share=st.sampled_from(["1/3", "1/7", "0.3", "99%"])
)
def test_share_preserves_fit_of_children(amounts: list[int], share: str) -> None:
    """Children that fit their parent as written fit it on every cluster."""
    children = tuple(
        Queue(id=f"c{i}", guaranteed=Resources(gpu=n), limit=Resources(gpu=n)) for i, n in enumerate(amounts)
    )
    total = Resources(gpu=sum(amounts))
    [scope] = _graph(Queue(id="p", guaranteed=total, limit=total, children=children), share=share).scopes
    parts = [scope.values[f"c{i}"] for i in range(len(amounts))]
    assert sum(int(part.guaranteed["gpu"]) for part in parts) <= int(scope.values["p"].guaranteed["gpu"])
    assert all(int(part.limit["gpu"]) <= int(scope.values["p"].limit["gpu"]) for part in parts)
    assert all(int(part.guaranteed["gpu"]) <= int(part.limit["gpu"]) for part in parts)


def _timed(**changed: Any) -> Override:
    return Override(begin="2026-11-01", end="2026-12-01", reason="r", owner="@acme/a", **changed)


@pytest.mark.parametrize(
    ("changed", "held"),
    [
        ({"limit": Resources(gpu={"l4": 40})}, {"gpu/h100": 8000, "gpu/l4": 40000, "gpu": 48000, "cpu": 64000}),
        ({"limit": Resources(cpu=8)}, {"gpu/h100": 8000, "gpu/l4": 24000, "gpu": 32000, "cpu": 8000}),
        ({"limit": Resources(gpu=0)}, {"gpu": 0, "cpu": 64000}),
        ({"limit": Resources(gpu={"l4": 40}), "replace": ("limit",)}, {"gpu/l4": 40000}),
    ],
)
def test_override_changes_only_mentioned_models(changed: dict[str, Any], held: dict[str, int]) -> None:
    limit = Resources(gpu={"h100": 8, "l4": 24}, cpu=64)
    pools = tuple(NodePool(id=m, max_nodes=1, accelerator=Accelerator(model=m, count=8)) for m in ("h100", "l4"))
    policy = Policy(
        organisation=Organisation(name="a"),
        queues=(Queue(id="q", limit=limit, overrides=(_timed(**changed),)),),
        node_pools=pools,
    )
    assert build_graph(declare(policy), TODAY).base.values["q"].limit == held


def test_override_keeps_guarantees_of_other_models() -> None:
    queue = Queue(
        id="q",
        guaranteed=Resources(gpu={"h100": 8, "a100": 4}),
        overrides=(_timed(guaranteed=Resources(gpu={"a100": 12})),),
    )
    assert _graph(queue).base.values["q"].guaranteed == {"gpu/h100": 8000, "gpu/a100": 12000, "gpu": 20000}


def test_override_of_one_weight_keeps_the_others() -> None:
    queue = Queue(id="q", over_quota_weight=Weight(cpu=3), overrides=(_timed(over_quota_weight=Weight(gpu=2)),))
    assert _graph(queue).base.values["q"].weight == {"cpu": 3000, "memory": 1000, "gpu": 2000}


def test_replace_requires_a_set_field() -> None:
    with pytest.raises(ValueError, match="`replace` lists `limit`, which the override does not set"):
        QueueOverride(queue="q", replace=("limit",))


def test_share_rounds_each_model_without_remainder() -> None:
    queue = Queue(id="a", guaranteed=Resources(gpu={"h100": 5, "a100": 5}), limit=Resources(gpu={"h100": 5, "a100": 5}))
    [scope] = _graph(queue, share="1/2").scopes
    assert scope.values["a"].guaranteed == {"gpu/h100": 2000, "gpu/a100": 2000, "gpu": 4000}
    assert scope.values["a"].limit == {"gpu/h100": 3000, "gpu/a100": 3000, "gpu": 5000}


def test_parent_total_is_scaled_with_models_of_children() -> None:
    child = Queue(id="c", guaranteed=Resources(gpu={"h100": 5, "a100": 5}))
    parents = {total: Queue(id="p", guaranteed=Resources(gpu=total), children=(child,)) for total in (10, 13)}
    held = {total: _graph(parent, share="1/2").scopes[0].values["p"].guaranteed for total, parent in parents.items()}
    assert held[10] == {"gpu/h100": 2000, "gpu/a100": 2000, "gpu": 4000}
    assert held[13] == {"gpu/h100": 2000, "gpu/a100": 2000, "gpu": 5000}


@given(
    children=st.lists(
        st.dictionaries(st.sampled_from(["h100", "a100"]), st.integers(0, 40), min_size=1), min_size=1, max_size=5
    ),
    spare=st.integers(0, 9),
    total=st.booleans(),
    share=st.sampled_from(["1/2", "1/3", "2/7", "0.3", "99%", "1"]),
)
def test_share_adds_no_guarantee_without_model(
    children: list[dict[str, int]], spare: int, total: bool, share: str
) -> None:
    """Conservation: no queue's guarantee names fewer models than as written, and what names none is `spare` scaled."""
    below = tuple(Queue(id=f"c{i}", guaranteed=Resources(gpu=gpus)) for i, gpus in enumerate(children))
    n_gpus = sum(sum(gpus.values()) for gpus in children)
    own = Resources(gpu=n_gpus + spare) if total else None
    [scope] = _graph(Queue(id="p", guaranteed=own, children=below), share=share).scopes

    def without_model(id_: str) -> int:
        held = scope.values[id_].guaranteed
        return int(held["gpu"]) - sum(int(amount) for r, amount in held.items() if r.startswith("gpu/"))

    assert [without_model(queue.id) for queue in below] == [0] * len(below)
    assert without_model("p") == (int(spare * _exact(share)) * 1000 if total else 0)
    parent = scope.values["p"].guaranteed
    for resource in ("gpu", "gpu/h100", "gpu/a100"):
        assert sum(int(scope.values[q.id].guaranteed.get(resource, 0)) for q in below) <= int(parent.get(resource, 0))


def _exact(share: str) -> Fraction:
    return Fraction(share[:-1]) / 100 if share.endswith("%") else Fraction(share)


def test_cluster_override_precedes_environment_override() -> None:
    clusters = tuple(
        Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0", pools=(H100,), share=share)
        for name, share in (("hall", "1"), ("cloud", "1/2"))
    )
    overrides = (
        QueueOverride(queue="a", clusters=("cloud",), guaranteed=Resources(cpu=20), priority=7),
        QueueOverride(queue="a", guaranteed=Resources(cpu=40, memory="8Gi")),
    )
    policy = Policy(
        organisation=Organisation(name="acme"),
        queues=(Queue(id="a", guaranteed=Resources(cpu=64, memory="4Gi")),),
        node_pools=(H100,),
        environments=(Environment(name="e", clusters=clusters, overrides=overrides),),
    )
    graph = build_graph(declare(policy), TODAY)
    hall, cloud = (scope.values["a"] for scope in graph.scopes)
    assert (hall.guaranteed, hall.priority) == ({"cpu": 40_000, "memory": 8 * 2**30}, None)
    assert (cloud.guaranteed, cloud.priority) == ({"cpu": 10_000, "memory": 4 * 2**30}, 7)
    assert cloud.sources["guaranteed/cpu"] == overrides[0].source
    assert cloud.sources["guaranteed/memory"] == overrides[1].source
    told = {item.field: item.origin for item in explain_queue(graph, graph.scopes[1], "a").values}
    assert told["guaranteed cpu"] == "override for the cluster, times the cluster's share of 1/2"


def test_rounded_parent_guarantee_equals_sum_of_children() -> None:
    """A remainder of a byte or a millicore would be a quota of its own on engines whose quotas add up."""
    child = Queue(id="a", guaranteed=Resources(cpu=32, memory="100Gi"))
    parent = Queue(
        id="p",
        guaranteed=Resources(cpu=64, memory="201Gi"),
        children=(child, child.model_copy(update={"id": "b"})),
    )
    [scope] = _graph(parent, share="1/3").scopes
    held, each = scope.values["p"].guaranteed, scope.values["a"].guaranteed
    assert (held["cpu"], each["cpu"]) == (21332, 10666)
    # What the parent has beyond its children is its own, rounded like any other amount.
    assert held["memory"] == 201 * 1024**3 // 3
