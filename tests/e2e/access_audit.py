"""The permissions of a role, and the requests of its account in the API server's audit log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .kubectl import Object


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a resource, as RBAC sees it. The namespace and name are empty if it has none."""

    verb: str
    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


@dataclass(frozen=True, slots=True)
class Permission:
    """One verb for one resource. An empty namespace or name permits it for all."""

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""

    def permits(self, request: Request) -> bool:
        return (
            (self.verb, self.resource) == (request.verb, request.resource)
            and self.namespace in ("", request.namespace)
            and self.name in ("", request.name)
        )

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f" in {self.namespace}" if self.namespace else "")


def permissions(objects: Iterable[Object]) -> Iterator[Permission]:
    """Yield each permission of the roles among some objects."""
    for role in objects:
        for rule in role.get("rules", ()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", ("",)):
                            namespace = role["metadata"].get("namespace", "")
                            yield Permission(verb, _qualified(resource, group), namespace, name)


def size(log: Path) -> int:
    """Return the size of an audit log in bytes; it does not exist before the first audited request."""
    return log.stat().st_size if log.exists() else 0


def requests(log: Path, offset: int, user: str) -> Iterator[Request]:
    """Yield the requests of a user for resources in an audit log, from an offset in bytes on."""
    with log.open("rb") as events:
        events.seek(offset)
        for line in events:
            event = json.loads(line)
            about = event.get("objectRef")
            if event["user"]["username"] == user and about is not None:
                resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
                qualified = _qualified(resource, about.get("apiGroup", ""))
                yield Request(event["verb"], qualified, about.get("namespace", ""), about.get("name", ""))


def _qualified(resource: str, group: str) -> str:
    """Return a resource as `kubectl auth can-i` takes it: `jobs.batch`, `pods/status`."""
    plural, slash, subresource = resource.partition("/")
    return f"{plural}{'.' if group else ''}{group}{slash}{subresource}"
