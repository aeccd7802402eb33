"""Structure checks accept declarations with any combination of faults, and only yield findings."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.checks import STRUCTURE_CHECKS
from apportion_compiler.checks.suggestions import suggester
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.engine_versions import parse_version
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.declarations import declare
from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Override,
    Policy,
    PriorityClass,
    Queue,
    QueueOverride,
    Resources,
)

AS_OF = date(2026, 11, 21)
ACME = Organisation(name="acme")
PRINTABLE = st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))
NAMES = st.sampled_from(["a", "b", "c", "A", "🎉", "x" * 253, "x" * 252 + "y", "a b", "-", "0", " "]) | st.text(
    PRINTABLE, min_size=1, max_size=253
)
DAYS = st.integers(0, 60).map(lambda n: AS_OF + timedelta(days=n - 30))


@st.composite
def overrides(draw: st.DrawFn) -> Override:
    begin, end = sorted((draw(DAYS), draw(DAYS)))
    return Override(
        begin=begin,
        end=end,
        reason="r",
        owner="o",
        environments=draw(st.none() | st.lists(NAMES, max_size=2).map(tuple)),
        guaranteed=draw(
            st.none() | st.just(Resources(gpu={"h100": 1})) | NAMES.map(lambda n: Resources(machines={n: 1}))
        ),
        priority=draw(st.none() | st.just(1)),
    )


def queues(depth: int) -> st.SearchStrategy[Queue]:
    return st.builds(
        Queue,
        id=NAMES,
        parent=st.none() | NAMES,
        children=st.lists(queues(depth - 1), max_size=2).map(tuple) if depth else st.just(()),
        namespaces=st.lists(NAMES, max_size=2).map(tuple),
        pools=st.none() | st.lists(NAMES, max_size=2).map(tuple),
        priority_classes=st.none() | st.lists(NAMES, max_size=2).map(tuple),
        labels=st.dictionaries(st.text(PRINTABLE, max_size=5), st.text(PRINTABLE, max_size=5), max_size=2),
        overrides=st.lists(overrides(), max_size=3).map(tuple),
    )


POLICIES = st.builds(
    Policy,
    organisation=st.just(ACME),
    queues=st.lists(queues(2), max_size=5).map(tuple),
    node_pools=st.lists(
        st.builds(NodePool, id=NAMES, max_nodes=st.just(1), provisioning=st.none() | NAMES), max_size=2
    ).map(tuple),
    priority_classes=st.lists(
        st.builds(
            PriorityClass, name=NAMES, value=st.integers(), queues=st.none() | st.lists(NAMES, max_size=2).map(tuple)
        ),
        max_size=2,
    ).map(tuple),
    environments=st.lists(
        st.builds(
            Environment,
            name=NAMES,
            clusters=st.lists(
                st.builds(
                    Cluster,
                    name=NAMES,
                    engine=st.sampled_from(Engine),
                    engine_version=st.text(PRINTABLE, min_size=1, max_size=9),
                    pools=st.lists(NAMES, max_size=2).map(tuple),
                ),
                min_size=1,
                max_size=2,
            ).map(tuple),
            overrides=st.lists(st.builds(QueueOverride, queue=NAMES), max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)


def found(policy: Policy) -> list[Diagnostic]:
    declarations = declare(policy)
    return [d for check in STRUCTURE_CHECKS for d in check(declarations, AS_OF)]


@pytest.mark.property
@given(POLICIES)
def test_checks_never_raise(policy: Policy) -> None:
    first = found(policy)
    assert first == found(policy)
    assert all(d.message and not d.message.endswith(".") for d in first)


def test_suggestions_for_10000_names_take_bounded_time() -> None:
    suggest = suggester([f"team-{n}" for n in range(10_000)])
    assert [suggest(f"taem-{n}") is not None for n in range(1_000)].count(True) == 2


def test_nearest_name_is_suggested() -> None:
    suggest = suggester(["research", "production"])
    assert (suggest("reaserch"), suggest("zzz")) == ("research", None)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.17.0", (0, 17)),
        ("v0.17.0-9", (0, 17)),
        ("1.25.2+aliyun.1", (1, 25)),
        (" 1.34 ", (1, 34)),
        ("latest", None),
        ("1", None),
        ("1.2.3.4", None),
        ("9" * 400 + ".1", None),
        ("٣.١", None),
    ],
)
def test_version_text(text: str, version: tuple[int, int] | None) -> None:
    assert parse_version(text) == version


def test_every_engine_has_a_range_of_versions() -> None:
    assert set(TRAITS) == {engine.value for engine in Engine}
    assert all(
        known.newest is None or known.oldest <= known.newest
        for known in (traits.versions for traits in TRAITS.values())
    )
