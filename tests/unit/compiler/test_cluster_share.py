"""The amount in a hint gives exactly enough under a cluster's share."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.cluster_share import guarantee_at_least, guarantee_at_most, share_of
from apportion_compiler.compile import check_policy
from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

AS_OF = date(2026, 11, 21)

shares = st.fractions(min_value=Fraction(1, 12), max_value=1, max_denominator=12)
resources = st.sampled_from([("gpu", 1000), ("gpu/h100", 1000), ("cpu", 1), ("memory", 2**20)])


@given(shares, resources, st.integers(0, 400))
def test_smallest_suggested_guarantee_suffices(share: Fraction, resource: tuple[str, int], amount: int) -> None:
    name, unit = resource
    written = guarantee_at_least(amount * unit, share, name)
    there = share_of(written, share, name, round_up=False)
    assert isinstance(there, int)
    assert there >= amount * unit


@given(shares, resources, st.integers(0, 400))
def test_largest_suggested_guarantee_fits(share: Fraction, resource: tuple[str, int], amount: int) -> None:
    name, unit = resource
    written = guarantee_at_most(amount * unit, share, name)
    there = share_of(written, share, name, round_up=False)
    assert isinstance(there, int)
    assert there <= amount * unit


def _codes(parent: int, children: list[int], shares_of: list[str]) -> tuple[list[str], str | None]:
    clusters = tuple(
        Cluster(name=f"c{n}", engine=Engine.KAI, engine_version="0.17.0", share=share)
        for n, share in enumerate(shares_of)
    )
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(
            Queue(id="top", guaranteed=Resources(gpu={"h100": parent})),
            *(
                Queue(id=f"q{n}", parent="top", namespaces=(f"n{n}",), guaranteed=Resources(gpu={"h100": gpus}))
                for n, gpus in enumerate(children)
            ),
        ),
        environments=(Environment(name="prod", clusters=clusters),),
    )
    found = [each for each in check_policy(policy, AS_OF).diagnostics if each.code == "AP201"]
    return [each.code for each in found], found[0].hint if found else None


@pytest.mark.parametrize("shares_of", [["3/4", "1/4"], ["1/2"], ["1/3", "2/3"], ["1"]])
@pytest.mark.parametrize(("parent", "children"), [(16, [9, 8, 4]), (3, [2, 2, 2]), (1, [4])])
def test_oversubscription_hint_fixes_every_cluster(parent: int, children: list[int], shares_of: list[str]) -> None:
    _, hint = _codes(parent, children, shares_of)
    assert hint is not None
    raised = re.match(r"raise the guarantee of `top` to (\d+) H100", hint)
    assert raised is not None
    assert _codes(int(raised[1]), children, shares_of)[0] == []
    lowered = re.search(r"or lower that of `q(\d)` to (\d+) H100", hint)
    if lowered is not None:
        less = [int(lowered[2]) if n == int(lowered[1]) else gpus for n, gpus in enumerate(children)]
        assert _codes(parent, less, shares_of)[0] == []
