"""Kueue lends idle quota and reclaims it; a lower guarantee has the documented effect on running workloads.

The cluster is that of `lending`: 24 GPUs, a third for each team, one of which does not lend.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from .admission import admit, clear, condition, evicted, is_held_back, submit, wait_for, wait_until_active
from .bind_output import bound_job
from .compiled_trees import POLICIES, Tree, compile_policy, installed
from .kubectl import Kubectl, Object
from .workloads import pod

pytestmark = pytest.mark.e2e

POLICY = POLICIES / "lending"
_SETTLED_S = 3

Trees = tuple[Tree, ...]
ClusterFor = Callable[[Sequence[Tree]], Kubectl]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Trees]:
    folder = tmp_path_factory.mktemp("lending")
    shutil.copytree(POLICY, folder / "policy")
    found = {}
    for state in ("first", "lowered"):
        (folder / "policy" / "change.py").write_text(f'STATE = "{state}"\n')
        found[state] = compile_policy(folder / "policy", folder / state)["on-kueue", "one"]
    return found


@pytest.fixture
def cluster(cluster_for: ClusterFor, states: Mapping[str, Trees]) -> Iterator[Kubectl]:
    cluster = cluster_for(states["first"])
    with installed(cluster, states["first"], refused=(pod("lender", scheduler=None, node="node-1"),)):
        wait_until_active(cluster)
        yield cluster
        clear(cluster)


def test_lent_quota_is_reclaimed(cluster: Kubectl) -> None:
    """The borrower uses only the lender's GPUs, which are reclaimed when the lender requests them."""
    own, borrowed, more = (_job("borrower", 8, name) for name in ("own", "borrowed", "more"))
    admit(cluster, own, borrowed)
    submit(cluster, more)
    wait_for(cluster, more, is_held_back, "held back")
    lenders = _job("lender", 8, "lenders")
    admit(cluster, lenders)
    given_back = evicted(cluster, own, borrowed)
    assert len(given_back) == 1
    assert condition(given_back[0], "Evicted")["reason"] == "Preempted"
    assert condition(given_back[0], "Preempted")["reason"].startswith("InCohort")
    admit(cluster, _job("keeper", 8, "keepers"))
    assert len(evicted(cluster, own, borrowed)) == 1


def test_lower_guarantee_makes_work_reclaimable(cluster: Kubectl, states: Mapping[str, Trees]) -> None:
    """The change evicts nothing; usage above the new guarantee is reclaimed when its new owner requests it."""
    first, second = _job("borrower", 4, "first"), _job("borrower", 4, "second")
    admit(cluster, first, second, _job("lender", 8, "lenders"))
    for tree in states["lowered"]:
        answer = cluster.apply(tree.files)
        assert answer.accepted, answer.said
    time.sleep(_SETTLED_S)
    assert evicted(cluster, first, second) == []
    admit(cluster, _job("lender", 4, "lenders-more"))
    assert len(evicted(cluster, first, second)) == 1


def _job(queue: str, gpus: int, name: str) -> Object:
    return bound_job(POLICY, "on-kueue", queue, "--gpus", str(gpus), "--name", name)
