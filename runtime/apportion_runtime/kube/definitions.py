"""Checks that the API server has the definitions (CRDs) of the objects that the scheduler requires."""

from __future__ import annotations

from http import HTTPStatus

from apportion_api.ack.names import QUEUE_GROUP as KUBE_QUEUE
from apportion_api.kai.names import POD_GROUP_API, QUEUE_API
from apportion_api.koordinator.names import PROFILE_GROUP as KOORDINATOR
from apportion_api.kueue.names import GROUP as KUEUE
from apportion_api.volcano.names import GROUP as VOLCANO
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.resources import WATCHED

INSTALLATION = (
    "helm show crds oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler --version VERSION"
    " | kubectl apply --server-side -f -"
)
"""The command that installs KAI's definitions; KAI's chart has them in its directory `crds`."""


_OTHERS = {
    KUEUE: "Kueue",
    VOLCANO: "Volcano",
    KOORDINATOR: "Koordinator",
    KUBE_QUEUE: "ACK's kube-queue",
}
"""The engine of each API group."""


class MissingDefinitions(Exception):
    """The API server lacks definitions; the message is one clause, and `INSTALLATION` is the remedy."""


def check_definitions(connection: Connection) -> None:
    """Return unless the API server reports that a required kind is not defined.

    Other failures are left to the list of the objects, which is repeated.

    Raises:
        MissingDefinitions: If kinds are not defined.
    """
    missing: list[str] = []
    for resource in WATCHED.values():
        if resource.api_version not in (QUEUE_API, POD_GROUP_API):
            continue
        try:
            connection.request("GET", f"{resource.everywhere}?limit=1")
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                continue
            group, _, version = resource.api_version.partition("/")
            missing.append(f"{resource.plural}.{group} ({version})")
        except Unreachable:
            return
    if missing:
        why = f"the API server does not define {' and '.join(missing)}, which are part of KAI's CRDs"
        raise MissingDefinitions(f"{why}{_of_others(connection)}")


def _of_others(connection: Connection) -> str:
    """Return which other engines' objects the API server defines, as a clause after a semicolon; empty if none."""
    try:
        served = {one["name"] for one in connection.request("GET", "/apis").get("groups", ())}
    except (Refused, Unreachable):
        return ""
    engines = [name for group, name in _OTHERS.items() if group in served]
    if not engines:
        return ""
    return f"; it defines objects of {' and '.join(engines)}, which this scheduler does not enforce"
