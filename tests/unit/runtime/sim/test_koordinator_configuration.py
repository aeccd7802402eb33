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


_POINTS = ("preEnqueue", "preFilter", "filter", "reserve", "permit", "preBind", "bind", "postBind", "multiPoint")


@pytest.mark.parametrize("point", _POINTS)
def test_an_unknown_plugin_is_refused_at_every_extension_point(point: str) -> None:
    before = profile()["plugins"].get(point, {}).get("enabled", ())
    plugins = {**profile()["plugins"], point: {"enabled": [*before, {"name": "SchedulingHintt"}]}}
    with pytest.raises(ConfigurationError, match=f"unknown plugin `SchedulingHintt` under {point}; koord-scheduler"):
        read_configuration([config_map(_profile_with(plugins=plugins))])


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (_profile_with(pluginConfig=[{"name": "Elastic"}]), "unknown plugin `Elastic` in pluginConfig; koord-scheduler would ignore"),
        (_profile_with(pluginConfig=[{"name": "ElasticQuota"}] * 2), "plugin `ElasticQuota` appears twice in pluginConfig"),
        (_profile_with(plugin={}), "unknown field `plugin` in profile"),
        (_profile_with(plugins={**profile()["plugins"], "reserved": {}}), "unknown extension point `reserved`"),
        (profile(monitorAllQuotass=True), "unknown argument ElasticQuota.monitorAllQuotass"),
        (profile(monitorAllQuotas="maybe"), "ElasticQuota.monitorAllQuotas is `maybe`, must be true or false"),
        (profile(delayEvictTime=120), "ElasticQuota.delayEvictTime is `120`, must be a duration such as 2m0s"),
        (profile(defaultQuotaGroupMax={"cpu": "x"}), "must be a quantity for each resource"),
        (profile(kind="CoschedulingArgs"), "ElasticQuota.kind is `CoschedulingArgs`, must be `ElasticQuotaArgs`"),
        (profile({"enablePreemptions": False}), "unknown argument Coscheduling.enablePreemptions"),
        (profile({"controllerWorkers": "one"}), "Coscheduling.controllerWorkers is `one`, must be an integer"),
    ],
)  # fmt: skip
def test_unknown_and_wrongly_typed_fields_are_refused(written: Made, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^ConfigMap koord-scheduler-config: .*{fault}"):
        read_configuration([config_map(written)])


def test_another_version_of_the_configuration_is_refused() -> None:
    text = "{apiVersion: kubescheduler.config.k8s.io/v9, profiles: [{schedulerName: koord-scheduler}]}"
    with pytest.raises(ConfigurationError, match=r"apiVersion is `kubescheduler[^ ]*/v9`, must be"):
        read_configuration([{**config_map(), "data": {"koord-scheduler-config": text}}])


def test_every_argument_of_the_quota_and_gang_plugins_is_read() -> None:
    gang = {"defaultTimeout": "10m", "controllerWorkers": 1, "enablePreemption": None, "awareNetworkTopology": True}
    written = profile(gang, revokePodInterval="1s", delayEvictTime="1m30s", systemQuotaGroupMax={"cpu": "1m"})
    assert read_configuration([config_map(written)]).delay_s == 90


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
