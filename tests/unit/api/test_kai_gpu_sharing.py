"""KAI's webhook rules for GPU sharing annotations, as its Go code parses the values."""

from __future__ import annotations

import pytest

from apportion_api.kai.gpu_sharing import gpu_sharing_fault

VALUES = {
    "gpu-fraction": {
        True: ("0.5", ".5", "+0.5", "5e-1", "5E-01", "0.001"),
        False: ("", "0", "1", "1.0", "-0.5", "half", "500m", "0_5", " 0.5", "0.5 ", "0x1p-1", "nan", "٠.٥", "1e-400"),
    },
    "gpu-memory": {
        True: ("1", "2000", "0002000", "18446744073709551615", "0" * 30 + "1"),
        False: ("", "0", "-1", "+1", "1.5", "4Gi", "1_000", " 1", "18446744073709551616", "9" * 5000, "٢"),
    },
}


@pytest.mark.parametrize("is_valid", [True, False])
@pytest.mark.parametrize("annotation", VALUES)
def test_values_are_parsed_as_by_the_webhook(annotation: str, is_valid: bool) -> None:
    for value in VALUES[annotation][is_valid]:
        fault = gpu_sharing_fault({annotation: value}, has_gpu_limit=False)
        assert (fault is None) is is_valid, value


def test_first_fault_is_reported_in_the_order_of_the_webhook() -> None:
    everything = {"gpu-fraction": "2", "gpu-memory": "x", "gpu-fraction-num-devices": "0", "mps": "true"}
    found = []
    for written, has_limit in (
        (everything, True),
        (everything, False),
        ({**everything, "gpu-fraction": None}, False),
        ({**everything, "gpu-memory": None}, False),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"}, False),
        ({"gpu-fraction-num-devices": "0"}, False),
        ({"gpu-fraction-num-devices": "0", "mps": "true"}, True),
    ):
        present = {key: value for key, value in written.items() if value is not None}
        fault = gpu_sharing_fault(present, has_gpu_limit=has_limit)
        assert fault is not None
        found.append((fault.annotation, fault.message.partition(" ")[0], fault.expected is not None))
    assert found == [
        ("gpu-fraction", "cannot", False),
        ("gpu-memory", "cannot", False),
        ("gpu-memory", "gpu-memory", True),
        ("gpu-fraction", "gpu-fraction", True),
        ("gpu-fraction-num-devices", "fraction", True),
        ("gpu-fraction-num-devices", "cannot", False),
        ("mps", "MPS", False),
    ]


@pytest.mark.parametrize(
    ("annotations", "is_valid"),
    [
        ({"mps": "true"}, False),
        ({"mps": "false"}, True),
        ({"mps": "True"}, True),
        ({"mps": "true", "gpu-fraction": "0.5"}, True),
        ({"mps": "true", "gpu-memory": "2000"}, True),
    ],
)
def test_mps_requires_a_part_of_a_gpu(annotations: dict[str, str], is_valid: bool) -> None:
    assert (gpu_sharing_fault(annotations, has_gpu_limit=False) is None) is is_valid
