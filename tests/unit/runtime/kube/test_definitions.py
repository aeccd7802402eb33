"""An API server without KAI's definitions is reported at startup, with the command that installs them."""

from __future__ import annotations

import time
from collections import Counter as Count
from threading import Event

import pytest

from apportion_runtime.kube.definitions import MissingDefinitions
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.scheduler_process import Options, run

from .api_server import ApiServer, Rejection, Sent, running


@pytest.mark.parametrize(
    ("groups", "named"),
    [
        (("scheduling.run.ai",), "queues.scheduling.run.ai (v2) and podgroups.scheduling.run.ai (v2alpha2)"),
        (("scheduling.run.ai/v2alpha2",), "podgroups.scheduling.run.ai (v2alpha2)"),
    ],
)
def test_missing_definitions_are_named(groups: tuple[str, ...], named: str) -> None:
    server = ApiServer()
    server.answer = lambda sent: (
        Rejection(404, "404 page not found") if any(group in sent.path for group in groups) else None
    )
    with running(server) as connection, pytest.raises(MissingDefinitions) as told:
        run(connection, Options("kai-scheduler"), None, Counters(), say=lambda _: None, ended=Event())
    assert str(told.value) == f"KAI's CRDs are not installed: the API server does not serve {named}"


def test_definitions_of_another_engine_are_named() -> None:
    server = ApiServer()
    server.answer = lambda sent: Rejection(404, "404 page not found") if "scheduling.run.ai" in sent.path else None
    server.held["/apis"] = {"groups": [{"name": "apps"}, {"name": "kueue.x-k8s.io"}]}
    with running(server) as connection, pytest.raises(MissingDefinitions) as told:
        run(connection, Options("kai-scheduler"), None, Counters(), say=lambda _: None, ended=Event())
    assert str(told.value).endswith("; it has the CRDs of Kueue, which `engine: kai` does not support")


def test_missing_definitions_of_ack_are_named_with_their_installation() -> None:
    server = ApiServer()
    groups = ("x-k8s.io", "sigs.k8s.io")
    server.answer = lambda sent: (
        Rejection(404, "404 page not found") if any(group in sent.path for group in groups) else None
    )
    options = Options("kai-scheduler", releases_jobs=True)
    with running(server) as connection, pytest.raises(MissingDefinitions) as told:
        run(connection, options, None, Counters(), say=lambda _: None, ended=Event())
    assert str(told.value).startswith(
        "the CRDs for ElasticQuotaTree and kube-queue are not installed: the API server does not serve "
        "elasticquotatrees.scheduling.sigs.k8s.io (v1beta1), "
        "queues.scheduling.x-k8s.io (v1alpha1) and queueunits.scheduling.x-k8s.io (v1alpha1)"
    )
    assert told.value.installation.endswith(" && kubectl apply -f api/pkg/crd")


def test_optional_definitions_that_are_missing_are_not_requested_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion_runtime.kube.object_cache._AGAIN_S", 0.01)
    server = ApiServer()

    def undefined(sent: Sent) -> Rejection | None:
        return Rejection(404, "404 page not found") if "kai.scheduler" in sent.path else None

    server.answer = undefined
    with running(server) as connection:
        cache = ObjectCache(connection)
        cache.start(60)
        time.sleep(0.3)
        cache.stop()
    requests = Count(sent.path.rpartition("/")[2] for sent in server.sent if "kai.scheduler" in sent.path)
    assert requests == {"schedulingshards": 1, "configs": 1, "topologies": 1}
