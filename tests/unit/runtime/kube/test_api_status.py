"""Who refused a request is read from what only the API server writes, not from texts that others choose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apportion_runtime.kube.api_status import origin_of, read_status
from apportion_runtime.kube.errors import Origin

PODS = {"name": "a", "kind": "pods"}
DENIED = 'User "system:serviceaccount:apportion-system:apportion-scheduler" cannot create resource "pods/binding"'


@pytest.mark.parametrize(
    ("code", "message", "details"),
    [
        (401, "Unauthorized", {}),
        (403, f'pods "a" is forbidden: {DENIED}', PODS),
        (403, f"pods is forbidden: {DENIED}", {"kind": "pods"}),
        (403, f'rayjobs.ray.io "a" is forbidden: {DENIED}', {"name": "a", "group": "ray.io", "kind": "rayjobs"}),
        (403, 'forbidden: User "system:anonymous" cannot get path "/apis"', {}),
    ],
)
def test_refusal_of_the_account(code: int, message: str, details: dict[str, Any]) -> None:
    assert origin_of(code, {"message": message, "details": details}) is Origin.ACCOUNT


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422, 429, 500])
@pytest.mark.parametrize("details", [{}, PODS, {"causes": [{"reason": "DisruptionBudget"}]}])
def test_webhook_is_the_origin_whatever_it_returns(code: int, details: dict[str, Any]) -> None:
    message = f'admission webhook "guard" denied the request: pods "a" is forbidden: {DENIED}'
    assert origin_of(code, {"message": message, "details": details}) is Origin.ADMISSION


@pytest.mark.parametrize(
    "why",
    [
        f"ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: forbidden: {DENIED}",
        "exceeded quota: team, requested: pods=1",
    ],
)
@pytest.mark.parametrize("code", [401, 403])
def test_policy_or_plugin_is_the_origin_whatever_its_message(code: int, why: str) -> None:
    status = {"message": f'pods "a" is forbidden: {why}', "details": PODS}
    assert origin_of(code, status) is Origin.ADMISSION


def test_budget_is_the_origin_only_as_a_cause() -> None:
    cause = {"reason": "DisruptionBudget", "message": "The disruption budget web needs 3 healthy pods"}
    assert origin_of(429, {"message": "Cannot evict pod", "details": {"causes": [cause]}}) is Origin.BUDGET
    assert origin_of(429, {"message": "too many requests; no DisruptionBudget"}) is Origin.SERVER


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"404 page not found", b"\xff", b'"text"'])
def test_page_of_a_proxy_has_no_status(content: bytes) -> None:
    assert read_status(content) == {}


@pytest.mark.parametrize("details", [None, "text", [], {"causes": None}, {"causes": 3}, {"causes": ["text"]}])
def test_malformed_details_are_those_of_the_server(details: object) -> None:
    status = read_status(json.dumps({"message": "no", "details": details}).encode())
    assert origin_of(409, status) is Origin.SERVER
