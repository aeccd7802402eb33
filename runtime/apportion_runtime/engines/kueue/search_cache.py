"""Answers of a scheduling cycle that hold until a workload below the same root cohort reserves or releases quota.

Between two events, Kueue's cycles mostly try the same heads against the same usage: a head that waits for its targets to
terminate comes first in each cycle, and the heads behind it fail again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar, cast

Answer = TypeVar("Answer")


@dataclass(slots=True)
class SearchCache:
    """By node of the tree and question, the answers since the last change of a holder below that node.

    Nodes are root cohorts and queues.
    """

    _answers: dict[str, dict[Hashable, object]] = field(default_factory=dict)
    _rules: object = None

    def open(self, rules: object) -> None:
        """Begin a cycle with a configuration; the answers under another one are dropped."""
        if self._rules is not rules:
            self._rules = rules
            self._answers.clear()

    def changed(self, queue: str, root: str) -> None:
        """Drop the answers about a queue of which a holder changed, and about its root cohort."""
        self._answers.pop(queue, None)
        self._answers.pop(root, None)

    def answer(self, node: str, question: Hashable, search: Callable[[], Answer]) -> Answer:
        """Return the answer to a question, and search it if it is not known; each question has one type of answer."""
        known = self._answers.setdefault(node, {})
        found = cast("Answer | None", known.get(question))
        if found is None:
            found = known[question] = search()
        return found
