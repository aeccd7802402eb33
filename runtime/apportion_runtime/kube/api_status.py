"""Who refused a request, by the `Status` that the API server returns.

A `Status` has no field for it. The code and the reason are those of the refusal, and an admission webhook chooses its
own, with any message. What nobody but the API server writes is the beginning of the message: the resource of the
details, followed by the user, for a refusal by the authorizer, and the name of the webhook for one by a webhook.

Source: k8s.io/apiserver, pkg/endpoints/handlers/responsewriters (errors.go) and pkg/admission/plugin/webhook/errors
(statuserror.go); k8s.io/apimachinery, pkg/api/errors (NewForbidden, NewUnauthorized).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from apportion_runtime.kube.errors import Origin

_WEBHOOK = 'admission webhook "'
_BUDGET = "DisruptionBudget"
"""The reason of a cause of refused evictions (`policyv1.DisruptionBudgetCause`)."""


def read_status(content: bytes) -> Mapping[str, Any]:
    """Return the `Status` in the body of a response; empty if it has none."""
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def origin_of(code: int, status: Mapping[str, Any]) -> Origin:
    """Return who refused a request, by the HTTP code and the `Status` of the response."""
    message, details = str(status.get("message") or ""), _mapping(status.get("details"))
    if message.startswith(_WEBHOOK):
        return Origin.ADMISSION
    causes = details.get("causes")
    if isinstance(causes, list) and any(_mapping(one).get("reason") == _BUDGET for one in causes):
        return Origin.BUDGET
    match code:
        # The details of a refusal by admission name the object.
        case HTTPStatus.UNAUTHORIZED if not details:
            return Origin.ACCOUNT
        case HTTPStatus.FORBIDDEN if message.startswith(f'{_subject(details)}forbidden: User "'):
            return Origin.ACCOUNT
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return Origin.ADMISSION
        case _:
            return Origin.SERVER


def _subject(details: Mapping[str, Any]) -> str:
    """Return how the message of a forbidden request begins; that of a path without resource names none."""
    kind, group, name = (str(details.get(key) or "") for key in ("kind", "group", "name"))
    if not kind:
        return ""
    resource = f"{kind}.{group}" if group else kind
    return f'{resource} "{name}" is ' if name else f"{resource} is "


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
