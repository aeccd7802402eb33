"""Quantities, times, durations and device selectors, compared with Kubernetes' results."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apportion_runtime.snapshots.kubernetes.selectors import UnknownSelector, fulfilling, quantity, version
from apportion_runtime.snapshots.pod_requests import amounts
from apportion_runtime.snapshots.quantities import (
    parse_duration,
    parse_quantity,
    parse_time,
    thousandths,
    time_text,
    whole,
)


@pytest.mark.parametrize(
    ("text", "units", "milli"),
    [
        ("0", 0, 0),
        ("1", 1, 1000),
        (2, 2, 2000),
        (0.5, 1, 500),
        ("100m", 1, 100),
        ("1.5", 2, 1500),
        (".5", 1, 500),
        ("5.", 5, 5000),
        ("0.0001", 1, 1),
        ("1u", 1, 1),
        ("1n", 1, 1),
        ("2k", 2000, 2_000_000),
        ("2Ki", 2048, 2_048_000),
        ("1Ei", 2**60, 2**60 * 1000),
        ("1E", 10**18, 10**21),
        ("1e3", 1000, 10**6),
        ("1E3", 1000, 10**6),
        ("12e-1", 2, 1200),
        ("-1500m", -2, -1500),
        ("+3", 3, 3000),
    ],
)
def test_quantities_are_exact_and_rounded_up(text: str | float, units: int, milli: int) -> None:
    assert (whole(parse_quantity(text)), thousandths(parse_quantity(text))) == (units, milli)


@pytest.mark.parametrize("text", ["", "4 cores", "1.5.2", "Gi", "1gi", "1K", "0x10", "1_000", "१", "inf", "1e9999"])
def test_invalid_quantities_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("-1s", -1), ("0", 0), ("1.5h", 5400), ("250ms", 0.25)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "1d", "1h 30m", "h"])
def test_invalid_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("seconds", [0.0, 951_782_399.0, 951_782_400.0, 1_767_572_716.0, 253_402_300_799.0, -1.0, 1.5])
def test_times_are_written_as_datetime_writes_them(seconds: float) -> None:
    written = datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    assert time_text(seconds) == written


def test_times_are_utc_and_round_trip() -> None:
    assert parse_time("1970-01-01T01:00:00+01:00") == 0.0
    assert time_text(parse_time("2026-11-21T08:00:00Z")) == "2026-11-21T08:00:00Z"


@pytest.mark.parametrize("text", ["2026-11-21", "yesterday", "2026-11-21T08:00:00", "2026-13-01T00:00:00Z"])
def test_invalid_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time(text)


DEVICE = {
    "driver": "gpu.example.com",
    "attributes": {
        "gpu.example.com": {"model": "A100-SXM4", "slices": 7, "ecc": True, "driverVersion": version("535.104.5")}
    },
    "capacity": {"gpu.example.com": {"memory": quantity("80Gi")}},
}
ATTRIBUTES = 'device.attributes["gpu.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "gpu.example.com"', True),
        ("device.driver == 'nic.example.com'", False),
        (f'{ATTRIBUTES}.model == "A100-SXM4" && {ATTRIBUTES}.slices >= 7', True),
        (f'{ATTRIBUTES}["model"] != "A100-SXM4"', False),
        (f'{ATTRIBUTES}.model.lowerAscii().matches("^.*a100.*$")', True),
        (f'{ATTRIBUTES}.model.startsWith("H") || {ATTRIBUTES}.model.endsWith("4")', True),
        (f'{ATTRIBUTES}.model in ["A100-SXM4", "H100"]', True),
        (f"{ATTRIBUTES}.ecc", True),
        (f"!{ATTRIBUTES}.ecc", False),
        (f'"model" in {ATTRIBUTES}', True),
        ('"model" in device.attributes["other.example.com"]', False),
        (f"has({ATTRIBUTES}.model)", True),
        (f"has({ATTRIBUTES}.color)", False),
        (f'{ATTRIBUTES}.color == "black"', False),
        (f'{ATTRIBUTES}.color == "black" || device.driver == "gpu.example.com"', True),
        (f'{MEMORY}.compareTo(quantity("40Gi")) >= 0', True),
        (f'{MEMORY}.isGreaterThan(quantity("80Gi"))', False),
        (f'{ATTRIBUTES}.driverVersion.isLessThan(semver("550.0.0"))', True),
        (f'{ATTRIBUTES}.driverVersion.compareTo(semver("535.104.5-rc.1")) > 0', True),
        (f'({ATTRIBUTES}.slices == 7) && !(device.driver == "x")', True),
        (f'{ATTRIBUTES}.model.compareTo(quantity("1")) == 0', False),
        (f'{ATTRIBUTES}.slices == "7"', False),
        ("device.driver.split('.')[0] == 'gpu'", True),
        ("device.driver == 'gpu.example.com' ? true : false", True),
        (f"['H100', 'A100-SXM4'].exists(model, model == {ATTRIBUTES}.model)", True),
        (f"{ATTRIBUTES}.all(name, name != 'color')", True),
        (f'{ATTRIBUTES}.model.matches("(a+)+$")', False),
        (f'{ATTRIBUTES}.model.matches("[")', False),
        (f"{ATTRIBUTES}.slices / 0 == 1", False),
        (f"{MEMORY}.sub(quantity('40Gi')) == quantity('40Gi')", True),
        (f"{MEMORY}.asInteger() == 85899345920", True),
        (f"{ATTRIBUTES}.driverVersion.major() == 535", True),
        (f"{ATTRIBUTES}.driverVersion.isGreaterThan(semver('v535', true))", True),
        ("isQuantity('10Gi') && !isQuantity('ten') && !isSemver('1')", True),
    ],
)
def test_selectors(expression: str, expected: bool) -> None:
    assert fulfilling(expression, [DEVICE]) == [expected]


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "device.driver ==",
        "device.driver.?name.orValue('x') == 'x'",
        "device.driver.find('g') == 'g'",
        "device.driver.nosuch()",
        "cel.bind(a, device.driver, a == 'x')",
        "other.driver == 'x'",
        "device.driver == 'x' device",
        "(" * 200 + "true" + ")" * 200,
        "device.driver == 'unterminated",
    ],
)
def test_unsupported_selectors_are_refused(expression: str) -> None:
    with pytest.raises(UnknownSelector):
        fulfilling(expression, [DEVICE])


def test_quantities_end_at_the_largest_integer() -> None:
    assert parse_quantity("10Ei") == (2**63 - 1) * 10**9
    for written in ("1e400", 1e308, "10E"):
        with pytest.raises(ValueError, match="exceeds 9223372036854775807, the largest Kubernetes quantity"):
            parse_quantity(written)


@pytest.mark.parametrize("written", [[], {}, None, True])
def test_quantity_of_another_type_is_refused(written: object) -> None:
    parse_quantity(1)
    with pytest.raises(ValueError, match="is not a quantity such as 500m"):
        parse_quantity(written)


def test_requests_of_another_type_are_refused() -> None:
    with pytest.raises(ValueError, match="is not a mapping of resources to quantities"):
        amounts([1])
