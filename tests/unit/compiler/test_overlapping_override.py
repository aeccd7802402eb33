"""Overlapping overrides of a queue: every pair is reported."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.compile import check_policy
from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Override,
    Policy,
    Queue,
    QueueOverride,
    Resources,
)

AS_OF = date(2026, 11, 21)


def _override(begin: int, end: int) -> Override:
    day = "2026-12-{:02}".format
    return Override(begin=day(begin), end=day(end), reason="r", owner="@acme/vision", priority=1)


@pytest.mark.parametrize(
    ("spans", "shared"),
    [
        ([(1, 10), (2, 9), (3, 8)], ["2026-12-02 to 2026-12-09", "2026-12-03 to 2026-12-08", "2026-12-03 to 2026-12-08"]),
        ([(1, 3), (2, 5), (4, 6)], ["2026-12-02 to 2026-12-03", "2026-12-04 to 2026-12-05"]),
        ([(1, 20), (2, 3), (5, 6)], ["2026-12-02 to 2026-12-03", "2026-12-05 to 2026-12-06"]),
        ([(1, 3), (4, 5), (6, 6)], []),
    ],
)  # fmt: skip
def test_each_overlapping_pair_is_reported(spans: list[tuple[int, int]], shared: list[str]) -> None:
    queue = Queue(id="vision", overrides=tuple(_override(*span) for span in spans))
    policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(queue,))
    found = [d.message for d in check_policy(policy, AS_OF).diagnostics if d.code == "AP112"]
    assert [message.partition(" from ")[2] for message in found] == shared


def test_number_of_findings_is_linear() -> None:
    many = tuple(_override(1, 10) for _ in range(1_000))
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"), queues=(Queue(id="vision", overrides=many),)
    )
    found = [d for d in check_policy(policy, AS_OF).diagnostics if d.code == "AP112"]
    assert {d.at for d in found} == {override.source for override in many[1:]}
    assert len(found) <= 8 * len(many)


def _found(
    *amounts: Resources, replace: tuple[str, ...] = (), clusters: tuple[tuple[str, ...] | None, ...] = ()
) -> list[str]:
    made = tuple(Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0") for name in "cd")
    overrides = tuple(
        QueueOverride(queue="vision", limit=limit, replace=replace, clusters=held)
        for limit, held in zip(amounts, clusters or (None,) * len(amounts), strict=True)
    )
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(Queue(id="vision", limit=Resources(gpu={"h100": 8, "l4": 8})),),
        environments=(Environment(name="prod", clusters=made, overrides=overrides),),
    )
    return [d.message for d in check_policy(policy, AS_OF).diagnostics if d.code == "AP112"]


def test_overrides_of_one_value_in_an_environment_overlap() -> None:
    h100, more, l4 = Resources(gpu={"h100": 4}), Resources(gpu={"h100": 6}), Resources(gpu={"l4": 4})
    assert _found(h100, more) == ["two overrides of `vision` in prod both set limit gpu/h100"]
    assert _found(h100, l4) == []
    assert _found(h100, Resources(gpu=0)) == ["two overrides of `vision` in prod both set limit gpu/h100"]
    assert _found(h100, l4, replace=("limit",)) == ["two overrides of `vision` in prod both set limit"]


def test_overrides_of_one_value_on_a_cluster_overlap() -> None:
    both = (Resources(gpu={"h100": 4}), Resources(gpu={"h100": 6}))
    assert _found(*both, clusters=(("c",), ("d",))) == []
    assert _found(*both, clusters=(None, ("d",))) == []
    assert _found(*both, clusters=(("c", "d"), ("d",))) == ["two overrides of `vision` in prod both set limit gpu/h100"]
