"""Run a case for some rounds: in between, bound pods start running, and evicted and pipelined pods become pending.

Source: pkg/scheduler/actions/integration_tests/integration_tests_utils at d5bc503a.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from apportion_runtime.cases.reader import Case, settings_of, snapshot_of
from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.pod_constraints import NodeTerm
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import BINDING, NAMES, PIPELINED, RELEASING
from apportion_runtime.core.task import NO_NODE


def run_rounds(case: Case, actions: tuple[str, ...] | None = None) -> Iterator[tuple[Session, Case]]:
    """Yield each round's session after its actions, and the case as input of the next round; never ends."""
    current: Case = case
    while True:
        settings = settings_of(current)
        session = cycle(snapshot_of(current), settings if actions is None else replace(settings, actions=actions))
        current = _after(current, session)
        yield session, current


def _after(case: Case, session: Session) -> Case:
    following: dict[str, Any] = copy.deepcopy(dict(case))
    for job in following["jobs"]:
        tasks = session.jobs[job["name"]].tasks
        for number, written in enumerate(job["tasks"]):
            task = tasks[f"{job['name']}-{number}"]
            stays = task.status not in (PIPELINED, RELEASING) or (
                task.status == RELEASING and job.get("delete_job_in_test")
            )
            if not stays:
                written.update(state="Pending", node="")
                continue
            written["state"] = "Running" if task.status == BINDING else NAMES[task.status]
            written["node"] = session.nodes.names[task.node] if task.node != NO_NODE else ""
            written["gpu_groups"] = list(task.gpu_groups)
    for claim in (following.get("dra") or {}).get("resource_claims") or ():
        claim["status"] = _status(session, claim.get("namespace", ""), claim["name"])
    return following


def _status(session: Session, namespace: str, name: str) -> dict[str, Any] | None:
    held, users = session.claims.allocation(namespace, name), session.claims.users(namespace, name)
    if held is None and not users:
        return None
    status: dict[str, Any] = {"reservedFor": [{"resource": "pods", "name": uid, "uid": uid} for uid in users]}
    if held is not None:
        results = [{"driver": driver, "pool": pool, "device": device} for driver, pool, device in held.devices]
        status["allocation"] = {"devices": {"results": results}}
        if held.nodes is not None:
            status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [_term(term) for term in held.nodes]}
    return status


def _term(term: NodeTerm) -> dict[str, Any]:
    written = {"matchExpressions": term.expressions, "matchFields": term.fields}
    return {
        key: [{"key": e.key, "operator": e.operator, "values": list(e.values)} for e in expressions]
        for key, expressions in written.items()
    }
