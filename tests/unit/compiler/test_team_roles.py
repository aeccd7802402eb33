"""A team can read the objects of its cluster's engine, and of no other."""

from __future__ import annotations

from typing import Any, cast

import pytest

from apportion_compiler.engines.native.emit.access import READER_ROLE, TEAM_ROLE, cluster_roles
from apportion_policy import Engine, Queue

from .quota_programs import program_of

_OF_ENGINES = {
    "kai": {("podgroups", True), ("queues", False), ("topologies", False)},
    "kueue": {
        *((name, False) for name in ("localqueues", "workloads", "provisioningrequests", "admissionchecks")),
        *((name, False) for name in ("clusterqueues", "cohorts", "resourceflavors", "topologies")),
        ("workloadpriorityclasses", False),
    },
}
_GROUPS = {
    "kai": {"scheduling.run.ai", "kai.scheduler"},
    "kueue": {"kueue.x-k8s.io", "autoscaling.x-k8s.io"},
}


@pytest.mark.parametrize("engine", ["kai", "kueue"])
def test_team_role_covers_only_its_engine(engine: str) -> None:
    roles = {
        cast(Any, role)["metadata"]["name"]: cast(Any, role)["rules"]
        for role in cluster_roles(program_of(Engine(engine), Queue(id="a")))
    }
    rules = [*roles[TEAM_ROLE], *roles[READER_ROLE]]
    found = {
        (resource, "create" in rule["verbs"])
        for rule in rules
        if rule["apiGroups"][0] in _GROUPS[engine]
        for resource in rule["resources"]
    }
    assert found == _OF_ENGINES[engine]
    others = set().union(*(groups for name, groups in _GROUPS.items() if name != engine))
    assert not others & {rule["apiGroups"][0] for rule in rules}
