"""Every invariant reports its violation, and nothing on a valid state.

All but the last test run without an API server, in `make test`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ..live_scheduler import until
from .cluster_state import GROUPS, PODS, ClusterState, Pod, read_state
from .fault_bed import FaultBed
from .gangs import Gang
from .invariants import ALWAYS, AT_REST, violations

POD = Pod("a-0", "a", "a", "team", 4, "n1", is_ending=False)
VALID = ClusterState(
    pods=(POD, replace(POD, name="a-1")),
    gpus={"n1": 8},
    minimums={"a": 2},
    replicas={"a": 2},
    limits={"all": 8},
    parents={"team": "all"},
)


def test_valid_state_violates_nothing() -> None:
    assert violations(VALID, AT_REST) == []


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (replace(VALID, gpus={"n1": 7}), ["the pods of n1 request 8 GPUs of 7"]),
        (replace(VALID, gpus={}), ["the pods of n1 request 8 GPUs of 0"]),
        (replace(VALID, limits={"all": 7}), ["queue all holds 8 GPUs, and its limit is 7"]),
    ],
    ids=["device given twice", "missing node", "limit exceeded"],
)
def test_violation_at_any_moment_is_reported(state: ClusterState, said: list[str]) -> None:
    assert violations(state, ALWAYS) == said


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            replace(VALID, pods=(POD, replace(POD, name="a-1", node=None))),
            ["1 of 2 pods of gang a are bound"],
        ),
        (replace(VALID, pods=(POD, replace(POD, name="a-1", is_ending=True))), ["a has 1 pods of 2"]),
        (replace(VALID, pods=(), replicas={"a": 1}), ["a has 0 pods of 1"]),
        (replace(VALID, minimums={}, pods=(POD,), replicas={}), ["pod a-0 has no pod group"]),
    ],
    ids=["gang half bound", "pod ends", "pod lost", "group lost"],
)
def test_violation_at_rest_is_reported(state: ClusterState, said: list[str]) -> None:
    assert violations(state, ALWAYS) == []
    assert violations(state, AT_REST) == said


@pytest.mark.e2e
def test_violations_on_the_api_server_are_reported(bed: FaultBed) -> None:
    bed.stop_shared()
    bed.create(Gang("planted", 5, 8, "tight"))
    pods = until(lambda: read_state(bed.api).pods, lambda found: len(found) == 5)
    for pod in pods[:4]:
        target = {"apiVersion": "v1", "kind": "Node", "name": "n00"}
        bed.api.request("POST", f"{PODS}/{pod.name}/binding", {"metadata": {"name": pod.name}, "target": target})
    at_any_moment = ["the pods of n00 request 32 GPUs of 8", "queue tight holds 32 GPUs, and its limit is 24"]
    said = violations(read_state(bed.api), AT_REST)
    assert said == [*at_any_moment, "4 of 5 pods of gang planted are bound"]
    bed.api.delete(f"{GROUPS}/planted")
    said = violations(read_state(bed.api), AT_REST)
    assert sorted(said[2:]) == sorted(f"pod {pod.name} has no pod group" for pod in pods)
    assert said[:2] == at_any_moment
