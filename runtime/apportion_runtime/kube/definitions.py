"""Checks that the API server has the definitions (CRDs) of the objects that the scheduler requires."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from apportion_api.ack.names import QUEUE_API as KUBE_QUEUE_API
from apportion_api.ack.names import QUEUE_GROUP as KUBE_QUEUE
from apportion_api.ack.names import TREE_API
from apportion_api.kai.names import POD_GROUP_API, QUEUE_API
from apportion_api.koordinator.names import PROFILE_GROUP as KOORDINATOR
from apportion_api.kueue.names import GROUP as KUEUE
from apportion_api.volcano.names import GROUP as VOLCANO
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.job_resources import ADMISSION_KINDS
from apportion_runtime.kube.resources import WATCHED, Resource

KAI_INSTALLATION = (
    "choose a VERSION of KAI from 0.12 to 0.17 and run:"
    " helm show crds oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler --version VERSION"
    " | kubectl apply --server-side -f -"
)
"""How KAI's definitions are installed, which KAI's chart has in its directory `crds`; the command ends the line."""
ACK_INSTALLATION = (
    "ElasticQuotaTree is preinstalled on ACK; elsewhere, install its CRD from"
    " https://github.com/AliyunContainerService/data-on-ack. For kube-queue, run:"
    " git clone --depth 1 https://github.com/kube-queue/api && kubectl apply -f api/pkg/crd"
)
"""How the definitions of job admission are installed; the command ends the line."""

_OTHERS = {
    KUEUE: "Kueue",
    VOLCANO: "Volcano",
    KOORDINATOR: "Koordinator",
    KUBE_QUEUE: "ACK's kube-queue (set `engine: ack` to release its jobs)",
}
"""The engine of each API group."""


class MissingDefinitions(Exception):
    """The API server lacks definitions; the message is one clause, and `installation` tells how to add them."""

    def __init__(self, message: str, installation: str) -> None:
        super().__init__(message)
        self.installation = installation


def check_definitions(connection: Connection) -> None:
    """Return unless the API server reports that a required kind is not defined.

    Other failures are left to the list of the objects, which is repeated.

    Raises:
        MissingDefinitions: If kinds are not defined.
    """
    required = [one for one in WATCHED.values() if one.api_version in (QUEUE_API, POD_GROUP_API)]
    missing = _missing(connection, required)
    if missing:
        why = f"KAI's CRDs are not installed: the API server does not serve {missing}"
        raise MissingDefinitions(f"{why}{_of_others(connection)}", KAI_INSTALLATION)


def check_admission_definitions(connection: Connection) -> None:
    """Return unless the API server reports that a kind of ACK that job admission requires is not defined.

    Raises:
        MissingDefinitions: If kinds are not defined.
    """
    required = [one for one in ADMISSION_KINDS.values() if one.api_version in (TREE_API, KUBE_QUEUE_API)]
    missing = _missing(connection, required)
    if missing:
        why = f"the CRDs for ElasticQuotaTree and kube-queue are not installed: the API server does not serve {missing}"
        raise MissingDefinitions(why, ACK_INSTALLATION)


def _missing(connection: Connection, required: Iterable[Resource]) -> str:
    """Return the kinds that are not defined, as a phrase; empty if none is missing, or the server does not respond."""
    missing: list[str] = []
    for resource in required:
        try:
            connection.request("GET", f"{resource.everywhere}?limit=1")
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                continue
            missing.append(resource.definition)
        except Unreachable:
            return ""
    *others, last = missing or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _of_others(connection: Connection) -> str:
    """Return which other engines' objects the API server defines, as a clause after a semicolon; empty if none."""
    try:
        served = {one["name"] for one in connection.request("GET", "/apis").get("groups", ())}
    except (Refused, Unreachable):
        return ""
    engines = [name for group, name in _OTHERS.items() if group in served]
    if not engines:
        return ""
    return f"; it has the CRDs of {' and '.join(engines)}, which `engine: kai` does not support"
