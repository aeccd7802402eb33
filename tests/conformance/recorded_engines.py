"""The engines whose decisions are recorded: their folder, and the decisions of a case as lines that can be compared.

The format of the cases is described in the README of each folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance import (
    ack_timelines,
    koordinator_timelines,
    kubernetes_timelines,
    kueue_timelines,
    volcano_timelines,
)
from tests.conformance.yunikorn_cases import replay

from apportion_runtime.cases.case_checks import checked
from apportion_runtime.cases.case_outcome import rounds_document

Case = Mapping[str, Any]
Decisions = Sequence[str]
"""One line for each decision, in the order of time."""


@dataclass(frozen=True)
class RecordedEngine:
    """An engine with recorded cases.

    Attributes:
        folder: Folder of its cases, below `tests/conformance`.
        name: Returns the name of a case, which is unique in its file.
        recorded: Returns each outcome that the engine has, more than one if it depends on chance.
        simulated: Returns the outcome of the simulation.
    """

    folder: str
    name: Callable[[Case], str]
    recorded: Callable[[Case], Sequence[Decisions]]
    simulated: Callable[[Case], Decisions]


def _seed(case: Case) -> str:
    return str(case["seed"])


def _outcomes(lines: Callable[[Any], Iterator[str]]) -> Callable[[Case], Sequence[Decisions]]:
    return lambda case: [list(lines(outcome)) for outcome in case["outcomes"]]


def _timeline(outcome: Sequence[Sequence[Any]]) -> Iterator[str]:
    for at, what, workload, how in outcome:
        yield f"{at}s {what} {workload}: {json.dumps(how, sort_keys=True)}"


def _dequeuing(outcome: Mapping[str, Any]) -> Iterator[str]:
    for at, job in outcome["dequeued"]:
        yield f"{at} dequeued {job}"
    for job, quota in sorted(outcome["refused"].items()):
        yield f"refused {job}: first by {quota}"


def _koordinator(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what each run decides, and the runtime quotas that it changes."""
    runtime: dict[str, Any] = {}
    for run in runs:
        for what in ("revoked", "preempted"):
            yield from (f"{run['at']:g}s {what} {pod}" for pod in run[what])
        yield from (f"{run['at']:g}s bound {pod} to {node}" for pod, node in run["bound"])
        for name, amounts in sorted(run["runtime"].items()):
            if amounts != runtime.get(name, {}):
                yield f"{run['at']:g}s runtime quota of {name}: {json.dumps(amounts, sort_keys=True)}"
            runtime[name] = amounts


def _kubernetes(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what each second decides, and the nominations that it changes."""
    nominated: Mapping[str, str] = {}
    for run in runs:
        yield from (f"{run['at']}s bound {pod} to {node}" for pod, node in run["bound"])
        yield from (f"{run['at']}s preempted {pod} for {other}" for pod, other in run["preempted"])
        for pod in sorted({*nominated, *run["nominated"]}):
            if nominated.get(pod) != run["nominated"].get(pod):
                yield f"{run['at']}s nominated {pod}: {run['nominated'].get(pod, 'none')}"
        nominated = run["nominated"]


_STATES = ("allocated", "apps", "reserved")
_EVENTS = ("evicted", "rejected")


def _yunikorn(states: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what each step changes."""
    former: Mapping[str, Any] = {}
    for number, state in enumerate(states):
        for key in _STATES:
            now, before = state.get(key) or {}, former.get(key) or {}
            for name in sorted({*now, *before}):
                if now.get(name) != before.get(name):
                    yield f"step {number} {key} {name}: {json.dumps(now.get(name))}"
        for key in _EVENTS:
            yield from (f"step {number} {key} {name}" for name in sorted(state.get(key) or ()))
        former = state


def _kai(rounds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for number, made in enumerate(rounds, 1):
        for name, pod in made["pods"].items():
            yield f"round {number} pod {name}: {pod['status']} {pod['node']}".rstrip()
        for name, queue in made["queues"].items():
            # The engine sums shares in map order.
            yield f"round {number} queue {name}: fair share {queue['gpu_fair_share']:.6g}"


def _kai_rounds(case: Case) -> Decisions:
    n_rounds = len(case["expected"]["rounds"])
    return list(_kai(rounds_document(checked(case["case"]), rounds=n_rounds)["rounds"]))


ENGINES: Mapping[str, RecordedEngine] = {
    "ack": RecordedEngine(
        "ack_random",
        _seed,
        _outcomes(_dequeuing),
        lambda case: list(_dequeuing(ack_timelines.simulated(case, ack_timelines.public_rules(case)))),
    ),
    "kai": RecordedEngine(
        "kai_random",
        lambda case: str(case["case"]["name"]),
        lambda case: [list(_kai(case["expected"]["rounds"]))],
        _kai_rounds,
    ),
    "koordinator": RecordedEngine(
        "koordinator_random",
        _seed,
        lambda case: [list(_koordinator(outcome)) for outcome in koordinator_timelines.outcomes(case)],
        lambda case: list(_koordinator(koordinator_timelines.simulated(case))),
    ),
    "kueue": RecordedEngine(
        "kueue_random", _seed, _outcomes(_timeline), lambda case: list(_timeline(kueue_timelines.simulated(case)))
    ),
    "native": RecordedEngine(
        "kubernetes_random",
        _seed,
        lambda case: [list(_kubernetes(case["runs"]))],
        lambda case: list(_kubernetes(kubernetes_timelines.simulated(case))),
    ),
    "volcano": RecordedEngine(
        "volcano_random", _seed, _outcomes(_timeline), lambda case: list(_timeline(volcano_timelines.simulated(case)))
    ),
    "yunikorn": RecordedEngine(
        "yunikorn_random",
        lambda case: str(case["name"]),
        _outcomes(_yunikorn),
        lambda case: list(_yunikorn(replay({**case, "config": json.dumps(case["config"])}))),
    ),
}
