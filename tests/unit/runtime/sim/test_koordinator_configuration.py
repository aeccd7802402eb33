"""Faults of Koordinator's scheduler configuration: one sentence, without Python's own terms."""

from __future__ import annotations

import pytest

from apportion_runtime.engines.koordinator.configuration import ConfigurationError, read_configuration

from .koordinator_clusters import Made, config_map, profile


def _profile_with(**changed: object) -> Made:
    return {**profile(), **changed}


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (
            {**config_map(), "data": {"koord-scheduler-config": "{profiles: [koord-scheduler]}"}},
            "a value has the wrong type",
        ),
        ({**config_map(), "data": {"koord-scheduler-config": "{}"}}, "`profiles` is missing"),
        (config_map(_profile_with(plugins=[1])), "a value has the wrong type"),
    ],
)
def test_invalid_configuration_is_one_sentence(written: Made, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f": {fault}$"):
        read_configuration([written])
