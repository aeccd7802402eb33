"""KAI's numbers represent declared amounts exactly."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.engines.kai.emit.numbers import exact_number, kai_number, weight_number
from apportion_policy.quantity import UNLIMITED, Amount, parse_cpu, parse_gpu, parse_memory


@pytest.mark.parametrize(
    ("resource", "amount", "written"),
    [
        ("memory", parse_memory("1Gi"), "1073.741824"),
        ("memory", parse_memory("2Ti"), "2199023.255552"),
        ("memory", parse_memory("7Pi"), "7881299347.898368"),
        ("memory", parse_memory("512M"), "512"),
        ("memory", 1, "1e-06"),
        ("memory", 0, "0"),
        ("memory", UNLIMITED, "-1"),
        ("cpu", parse_cpu("1500m"), "1500"),
        ("cpu", parse_cpu(64), "64000"),
        ("gpu", parse_gpu("0.7"), "0.7"),
        ("gpu", parse_gpu(8), "8"),
        ("gpu", parse_gpu("2.125"), "2.125"),
    ],
)
def test_amount_is_converted_to_the_unit_of_kai(resource: str, amount: Amount, written: str) -> None:
    assert json.dumps(kai_number(resource, amount)) == written


def test_weight_is_a_number() -> None:
    assert [weight_number(w) for w in (1000, 0, 500, 12250)] == [1, 0, 0.5, 12.25]


@given(st.integers(0, 10**15 - 1), st.sampled_from((1000, 1_000_000)))
def test_number_round_trips_through_json_and_yaml(amount: int, unit: int) -> None:
    number = exact_number(amount, unit)
    exact = Decimal(amount) / unit
    assert Decimal(json.dumps(number)) == exact
    assert Decimal(yaml.safe_dump(number).split()[0]) == exact


@given(st.integers(10**15, 2**63 - 1))
def test_huge_number_is_exact_to_one_unit(amount: int) -> None:
    written = Decimal(json.dumps(exact_number(amount, 1_000_000)))
    assert 0 <= Decimal(amount) / 1_000_000 - written < 1
