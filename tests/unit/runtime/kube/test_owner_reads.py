"""Owners of any kind are read: their paths are discovered once, and what the account may not read is told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apportion_runtime.admission.objects import Unreadable
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.owner_reads import OwnerReader

from .api_server import ApiServer, Rejection, running

FOO = "/apis/example.com/v1"


def _served(**kinds: tuple[str, bool]) -> dict[str, Any]:
    resources = [{"kind": kind, "name": name, "namespaced": namespaced} for kind, (name, namespaced) in kinds.items()]
    # Subresources have the kind of their resource.
    return {"resources": [*resources, {"kind": "Foo", "name": "foos/status", "namespaced": True}]}


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer()
    server.held[FOO] = _served(Foo=("foos", True), Site=("sites", False))
    server.put(f"{FOO}/namespaces/team/foos/a", {"metadata": {"name": "a", "namespace": "team"}})
    server.put(f"{FOO}/sites/main", {"metadata": {"name": "main"}})
    server.put("/apis/batch/v1/namespaces/team/jobs/j", {"metadata": {"name": "j", "namespace": "team"}})
    return server


@pytest.fixture
def owners(server: ApiServer) -> Iterator[OwnerReader]:
    with running(server) as connection:
        yield OwnerReader(connection)


def _name(found: Any) -> str | None:
    return None if found is None else str(found["metadata"]["name"])


def test_kinds_with_and_without_namespaces_are_discovered_once(server: ApiServer, owners: OwnerReader) -> None:
    assert _name(owners.read("example.com/v1", "Foo", "team", "a")) == "a"
    assert _name(owners.read("example.com/v1", "Site", "team", "main")) == "main"
    assert [sent.path for sent in server.sent].count(FOO) == 1


def test_known_kind_is_read_without_discovery(server: ApiServer, owners: OwnerReader) -> None:
    assert _name(owners.read("batch/v1", "Job", "team", "j")) == "j"
    assert [sent.path for sent in server.sent] == ["/apis/batch/v1/namespaces/team/jobs/j"]


def test_missing_object_or_kind_is_none_until_installed(server: ApiServer, owners: OwnerReader) -> None:
    assert owners.read("example.com/v1", "Foo", "team", "gone") is None
    assert owners.read("example.com/v1", "Bar", "team", "a") is None
    assert owners.read("later.example.com/v1", "Foo", "team", "a") is None
    server.held[FOO] = _served(Foo=("foos", True), Bar=("bars", True))
    server.put(f"{FOO}/namespaces/team/bars/a", {"metadata": {"name": "a", "namespace": "team"}})
    assert _name(owners.read("example.com/v1", "Bar", "team", "a")) == "a"
    server.held["/apis/later.example.com/v1"] = _served(Foo=("foos", True))
    server.put("/apis/later.example.com/v1/namespaces/team/foos/a", {"metadata": {"name": "a", "namespace": "team"}})
    assert _name(owners.read("later.example.com/v1", "Foo", "team", "a")) == "a"


def test_what_the_account_may_not_read_is_not_taken_for_missing(server: ApiServer, owners: OwnerReader) -> None:
    server.answer = lambda sent: Rejection(403, "foos is forbidden") if sent.path.endswith("/foos/a") else None
    with pytest.raises(Unreadable, match="foos is forbidden"):
        owners.read("example.com/v1", "Foo", "team", "a")
    server.answer = lambda sent: Rejection(500, "broken")
    with pytest.raises(Refused, match="broken"):
        owners.read("example.com/v1", "Foo", "team", "a")
