"""The log: decisions always, warnings once for each cause."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest

from apportion_runtime.kube.log import Decision, Log, shutdown_line


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_warning_repeats_after_ten_minutes_with_suppressed_count() -> None:
    lines: list[str] = []
    clock = Clock()
    log = Log(lines.append, clock)
    for second in range(600):
        clock.now = second
        log.warning("cannot reach the API server")
    assert lines == ["warning: cannot reach the API server"]
    clock.now = 600
    log.warning("cannot reach the API server")
    assert lines[1:] == ["warning: cannot reach the API server (599 times since the last warning)"]


def test_each_cause_has_its_own_warning_and_decisions_are_not_suppressed() -> None:
    lines: list[str] = []
    log = Log(lines.append, Clock())
    log.warning("a")
    log.warning("b")
    log.warning("a")
    log.decision("bound 8 of team/gang to n1")
    log.decision("bound 8 of team/gang to n1")
    assert lines == ["warning: a", "warning: b", *["bound 8 of team/gang to n1"] * 2]


def test_number_of_cached_warnings_is_bounded() -> None:
    lines: list[str] = []
    log = Log(lines.append, Clock())
    for number in range(1500):
        log.warning(f"pod {number} was rejected")
    log.warning("pod 1499 was rejected")
    log.warning("pod 0 was rejected")
    assert len(lines) == 1501


@pytest.mark.parametrize(
    ("n_dropped", "said"),
    [
        (0, "completed"),
        (1, "completed, and 1 condition, event or status was not written"),
        (2, "completed, and 2 conditions, events and statuses were not written"),
    ],
)
def test_last_line_counts_what_was_not_written(n_dropped: int, said: str) -> None:
    line = shutdown_line("SIGTERM", "the last cycle and its writes were completed", n_cycles=1, n_dropped=n_dropped)
    assert line == f"ended by SIGTERM after 1 cycle: the last cycle and its writes were {said}"


def test_lines_of_a_structured_log_have_the_fields_of_decisions() -> None:
    lines: list[str] = []
    log = Log(lines.append, is_json=True)
    log.decision(Decision("bound 1 of team/a to n1", decision="bind", podGroup="team/a", nodes=["n1"]))
    log.decision("became the leader")
    log.warning("cycle failed")
    documents = [json.loads(line) for line in lines]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", one.pop("time")) for one in documents)
    assert documents == [
        {
            "level": "info",
            "message": "bound 1 of team/a to n1",
            "decision": "bind",
            "podGroup": "team/a",
            "nodes": ["n1"],
        },
        {"level": "info", "message": "became the leader"},
        {"level": "warning", "message": "cycle failed"},
    ]
