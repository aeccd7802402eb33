"""An override that sets some of a queue's amounts leaves the others unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_compiler.compile import check_policy
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_policy import (
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
from apportion_policy.quantity import Amount

TODAY = date(2026, 11, 21)
MODELS = ("a100", "h100", "l4")
POOLS = tuple(NodePool(id=m, max_nodes=4, accelerator=Accelerator(model=m, count=8)) for m in MODELS)
FIELDS = ("guaranteed", "limit", "lending_limit")

amounts = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.integers(0, 64),
        "memory": st.integers(0, 64).map("{}Gi".format),
        "gpu": st.dictionaries(st.sampled_from(MODELS), st.integers(0, 64), min_size=1),
        "extended": st.dictionaries(st.sampled_from(("rdma/hca", "acme.example/nic")), st.integers(0, 8), min_size=1),
    },
)
weights = st.fixed_dictionaries(
    {}, optional={"cpu": st.integers(0, 9), "memory": st.integers(0, 9), "gpu": st.integers(0, 9)}
)
written = st.fixed_dictionaries({}, optional={**dict.fromkeys(FIELDS, amounts), "over_quota_weight": weights})


def _declared(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: Weight(**value) if name == "over_quota_weight" else Resources(**value) for name, value in fields.items()
    }


def _law(base: Mapping[str, Any], changes: list[Mapping[str, Any]]) -> None:
    """Conservation: each resource and GPU model of a field has the value of the last override that sets it."""
    environmental, timed = changes
    queue = Queue(
        id="q",
        **_declared(base),
        overrides=(Override(begin="2026-11-01", end="2026-12-01", reason="r", owner="@acme/a", **_declared(timed)),),
    )
    cluster = Cluster(name="c", engine=Engine.KAI, engine_version="0.17.0", pools=POOLS)
    override = QueueOverride(queue="q", **_declared(environmental))
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/a"),
        queues=(queue,),
        node_pools=POOLS,
        environments=(Environment(name="e", clusters=(cluster,), overrides=(override,)),),
    )
    values = build_graph(declare(policy), TODAY).scope("e", "c").values["q"]
    held: Mapping[str, Mapping[str, Amount]] = {
        "guaranteed": values.guaranteed, "limit": values.limit, "lending_limit": values.lending_limit
    }  # fmt: skip
    for field in FIELDS:
        last: dict[str, Amount] = {}
        for mention in (base, environmental, timed):
            last |= {r: a for r, a in Resources(**mention.get(field, {})).amounts().items() if r != "gpu"}
        assert {r: a for r, a in held[field].items() if r in last} == last
    weight = {"cpu": 1000, "memory": 1000, "gpu": 1000}
    for mention in (base, environmental, timed):
        weight |= {r: w * 1000 for r, w in mention.get("over_quota_weight", {}).items()}
    assert values.weight == weight
    assert not [d for d in check_policy(policy, TODAY).diagnostics if d.code in ("AP112", "AP122")]


@settings(max_examples=60, deadline=None)
@given(written, st.lists(written, min_size=2, max_size=2))
def test_override_preserves_unmentioned_fields(base: Mapping[str, Any], changes: list[Mapping[str, Any]]) -> None:
    _law(base, changes)


@pytest.mark.slow
@settings(max_examples=1_000, deadline=None)
@given(written, st.lists(written, min_size=2, max_size=2))
def test_many_overrides_preserve_unmentioned_fields(base: Mapping[str, Any], changes: list[Mapping[str, Any]]) -> None:
    _law(base, changes)
