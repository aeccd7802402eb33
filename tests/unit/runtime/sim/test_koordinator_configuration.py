"""Faults of Koordinator's scheduler configuration: one sentence, without Python's own terms."""

from __future__ import annotations

import pytest

from apportion_runtime.engines.koordinator.configuration import ConfigurationError, read_configuration

from .koordinator_clusters import Made, config_map, enabled, profile


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


def _without_state_of_scores(pre_score: Made | None, **more: object) -> Made:
    plugins = {**profile()["plugins"], "preScore": pre_score or {}, **more}
    return config_map(_profile_with(plugins=plugins))


def test_a_score_without_its_state_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="NodeResourcesFitPlus is enabled under score but not under preScore"):
        read_configuration([_without_state_of_scores(enabled("Reservation"))])


@pytest.mark.parametrize(
    "written",
    [
        _without_state_of_scores(enabled("NodeResourcesFitPlus")),
        _without_state_of_scores(None, multiPoint=enabled("NodeResourcesFitPlus")),
        _without_state_of_scores(None, score={"disabled": [{"name": "NodeResourcesFit"}]}),
    ],
    ids=["enabled", "at every point", "no score"],
)
def test_a_score_with_its_state_is_read(written: Made) -> None:
    read_configuration([written])
