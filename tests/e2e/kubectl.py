"""kubectl run as one user, with its output and warnings."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Object = Mapping[str, Any]

FIELD_MANAGER = "apportion"
_APPLY = ("apply", "--server-side", "--validate=strict", f"--field-manager={FIELD_MANAGER}")
_LIMIT_S = 120
_DELETED_S = 100
_SAID_LENGTH = 4_000
"""Maximum length of an error in a message: kubectl prints whole objects in some."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call. `said` is its standard error: errors and the API server's warnings."""

    code: int
    out: str
    said: str

    @property
    def accepted(self) -> bool:
        return self.code == 0

    def json(self) -> Any:
        return json.loads(self.out)

    def objects(self) -> list[Object]:
        """Return the objects of a JSON output; kubectl prints several as a list."""
        found = self.json()
        return list(found["items"]) if found["kind"] == "List" else [found]


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with one configuration; `user` and `groups` are impersonated by the administrator."""

    binary: Path
    kubeconfig: Path
    user: str | None = None
    groups: tuple[str, ...] = ()

    def as_user(self, user: str, *groups: str) -> Kubectl:
        return replace(self, user=user, groups=groups)

    def __call__(self, *arguments: str | Path, stdin: str | None = None) -> Answer:
        impersonation = [] if self.user is None else [f"--as={self.user}", *(f"--as-group={g}" for g in self.groups)]
        done = subprocess.run(
            [self.binary, *arguments, *impersonation],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            # The machine's own kubectl configuration is ignored.
            env={
                "KUBECONFIG": str(self.kubeconfig),
                "HOME": str(self.kubeconfig.parent),
                "KUBECACHEDIR": str(self.kubeconfig.parent / "cache"),
                "PATH": os.defpath,
            },
        )
        return Answer(done.returncode, done.stdout, done.stderr.strip()[:_SAID_LENGTH])

    def must(self, *arguments: str | Path, stdin: str | None = None) -> Answer:
        """Run kubectl, and fail the test if it fails."""
        answer = self(*arguments, stdin=stdin)
        assert answer.accepted, f"kubectl {' '.join(map(str, arguments))}: {answer.said}"
        return answer

    def apply(self, files: Sequence[Path]) -> Answer:
        """Apply files in order, server-side, with forced ownership and strict validation; prints the stored objects."""
        return self(*_APPLY, "-o", "json", *(argument for file in files for argument in ("-f", file)))

    def apply_objects(self, objects: Sequence[Object]) -> Answer:
        """Apply objects in order, with the same options."""
        return self(*_APPLY, "-f", "-", stdin=_documents(objects))

    def apply_text(self, text: str, *, dry_run: bool = False) -> Answer:
        """Apply a manifest, with the same options; the output is the stored object, or that of a dry run."""
        flags = ("--dry-run=server",) if dry_run else ()
        return self(*_APPLY, *flags, "-o", "json", "-f", "-", stdin=text)

    def delete_objects(self, objects: Sequence[Object]) -> None:
        """Delete objects in order, and wait until all are deleted."""
        self.request_deletion(objects)
        self.wait_until_deleted(objects)

    def request_deletion(self, objects: Sequence[Object]) -> None:
        """Delete objects in order, without waiting for finalizers."""
        if objects:
            self.must("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=_list(objects))

    def wait_until_deleted(self, objects: Sequence[Object]) -> None:
        """Return when none of the objects exists.

        `kubectl delete --wait` and `kubectl wait` send five requests a second at most, at least one for each object.
        """
        deadline = time.monotonic() + _DELETED_S
        while objects:
            left = self.must("get", "--ignore-not-found", "-o", "name", "-f", "-", stdin=_list(objects)).out.split()
            if not left:
                return
            assert time.monotonic() < deadline, f"not deleted: {left}"
            time.sleep(0.2)

    def create(self, *objects: Object, dry_run: bool = False) -> Answer:
        """Create objects with strict validation; a dry run includes admission, and stores nothing."""
        flags = ("--dry-run=server",) if dry_run else ()
        return self("create", "--validate=strict", *flags, "-f", "-", stdin=_documents(objects))

    def get(self, *arguments: str) -> Any:
        return self.must("get", *arguments, "-o", "json").json()


def _list(objects: Sequence[Object]) -> str:
    return json.dumps({"kind": "List", "apiVersion": "v1", "items": list(objects)})


def _documents(objects: Sequence[Object]) -> str:
    # kubectl accepts concatenated JSON documents, as it does YAML ones.
    return "\n---\n".join(json.dumps(one) for one in objects)
