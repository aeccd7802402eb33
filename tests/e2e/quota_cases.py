"""Submission of the cases of ACK, Koordinator, Kueue and Volcano: a dry run by a member of the namespace's team."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from .compiled_trees import POLICIES, compile_policy, installed
from .kubectl import Kubectl, Object
from .teams import People, people


@contextlib.contextmanager
def teams_of(cluster: str, kubectl: Kubectl, out: Path, refused: Sequence[Object]) -> Iterator[People]:
    """The teams on a cluster of `policies/two-teams-quotas`."""
    trees = compile_policy(POLICIES / "two-teams-quotas", out)["queued", cluster]
    with installed(kubectl, trees, refused=refused):
        yield people(kubectl)


def accepted(who: People, work: Object) -> None:
    """Assert that a workload is accepted without a warning."""
    answer = who.of(work["metadata"]["namespace"]).create(work, dry_run=True)
    assert answer.accepted, answer.said
    assert answer.said == ""


def refused(who: People, work: Object, says: str) -> None:
    """Assert that a workload is rejected for the reason."""
    answer = who.of(work["metadata"]["namespace"]).create(work, dry_run=True)
    assert not answer.accepted
    assert says in answer.said, answer.said
