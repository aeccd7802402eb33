"""Facts that only Apportion's admission policies contain: the scheduler, and the preemptible classes.

A PriorityClass has no field for preemptibility, and the classes that an engine's chart installs are not emitted; the
policies on workloads list both (backends/admission/rules.py). Other admission policies are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from apportion_compiler.plain_objects import items, of_kind, text
from apportion_compiler.readers.objects import is_ours
from apportion_compiler.readers.record import Manifest

_SCHEDULER = re.compile(r"'schedulerName must be (\S+) in namespace ")
_LIST = r"(\[(?:\"[^\"]*\"(?:, )?)*\])"
_EVICTABLE = re.compile(
    rf"n\.preemptibility == '(?:preemptible|true)' && variables\.classes\.exists\(c, c in {_LIST}\)"
)
_PROTECTED = re.compile(
    rf"n\.preemptibility == '(?:non-preemptible|false)' && variables\.classes\.exists\(c, c in {_LIST}\)"
)
_UNIT = re.compile(rf"variables\.named\.preemptibility == 'preemptible'\) == \(variables\.named\.class in {_LIST}\)")


@dataclass(frozen=True, slots=True)
class AdmissionFacts:
    """Facts about classes, by object name.

    `preemptible` has every class if the engine reads preemptibility from a label; `evictable` are the preemptible ones,
    None if there is no policy on the engine's scheduling units.
    """

    scheduler_name: str
    preemptible: Mapping[str, bool]
    evictable: frozenset[str] | None = None

    def is_preemptible(self, name: str) -> bool | None:
        """Return whether workloads of a class are preemptible; None if unknown."""
        if name in self.preemptible or self.evictable is None:
            return self.preemptible.get(name)
        return name in self.evictable


def admission_facts(manifests: Sequence[Manifest]) -> AdmissionFacts | None:
    """Return the facts in the policies on workloads; None if there are none of Apportion's."""
    scheduler: str | None = None
    preemptible: dict[str, bool] = {}
    evictable: frozenset[str] | None = None
    for validation in _validations(manifests):
        expression, message = (text(validation, key) or "" for key in ("expression", "messageExpression"))
        named = _SCHEDULER.search(message)
        if named is not None:
            scheduler = named[1]
        for pattern, is_evictable in ((_EVICTABLE, True), (_PROTECTED, False)):
            found = pattern.search(expression)
            if found is not None:
                preemptible.update(dict.fromkeys(cast("list[str]", json.loads(found[1])), is_evictable))
        of_units = _UNIT.search(expression)
        if of_units is not None:
            evictable = frozenset(cast("list[str]", json.loads(of_units[1])))
    return None if scheduler is None else AdmissionFacts(scheduler, preemptible, evictable)


def _validations(manifests: Sequence[Manifest]) -> Iterator[object]:
    for policy in of_kind(manifests, "admissionregistration.k8s.io", "ValidatingAdmissionPolicy"):
        if is_ours(policy):
            yield from items(policy, "spec", "validations")
