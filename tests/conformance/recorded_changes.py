"""Every recorded change of a cluster with running work, in one form: see the folders `*-fates`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance import test_kai_fates as kai
from tests.conformance import test_kai_shard_fates as kai_shards
from tests.conformance import test_kueue_fates as kueue
from tests.conformance import test_kueue_flavor_fates as kueue_flavors
from tests.conformance import test_volcano_fates as volcano
from tests.conformance.test_kueue_fates import changed
from tests.unit.review import (
    kai_objects,
    kai_shard_objects,
    kueue_flavor_objects,
    kueue_objects,
    volcano_objects,
    volcano_tree_objects,
)

from apportion_policy.engine import Engine


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the engine did on one side.

    Attributes:
        evicted: Running workloads that it evicts for the pending ones.
        ever: Those that it evicts under this or any other demand that was recorded.
        is_exact: Whether nothing else is evicted for the work that waits; otherwise later cycles, which are not recorded,
            or other runs may evict more.
    """

    evicted: frozenset[str]
    ever: frozenset[str]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A cluster before and after a change. The outcome of a side is None if it was not recorded."""

    name: str
    direction: str
    engine: Engine
    described: tuple[Mapping[str, Any], Mapping[str, Any]]
    make: Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]
    outcomes: tuple[Outcome | None, Outcome | None]
    now: float | None = None

    def objects(self, side: int) -> list[dict[str, Any]]:
        """Return the objects of the base (0) or the head (1)."""
        return list(self.make(self.described[side]))


def _kai() -> Iterator[RecordedChange]:
    for number, pair in enumerate(kai.pairs()):
        yield RecordedChange(
            f"kai {number}",
            pair["direction"],
            Engine.KAI,
            (pair["cluster"], changed(pair["cluster"], pair["head"])),
            kai_objects.objects_of,
            _outcomes(pair, is_exact=False),
            kai_objects.START + kai_objects.SNAPSHOT_S,
        )


def _kai_shards() -> Iterator[RecordedChange]:
    for pair in kai_shards.pairs():
        yield RecordedChange(
            f"kai shards {pair['seed']}",
            pair["direction"],
            Engine.KAI,
            (pair["cluster"], changed(pair["cluster"], pair["head"])),
            kai_shard_objects.objects_of,
            _outcomes(pair, is_exact=True),
            kai_shard_objects.START + kai_shard_objects.SNAPSHOT_S,
        )


def _kueue() -> Iterator[RecordedChange]:
    for pair in kueue.lines("pairs.jsonl.gz"):
        base = kueue.clusters()[pair["base"]]
        stated, everyone = (frozenset(name for name, _ in pair["outcome"][key]) for key in ("stated", "everyone"))
        yield RecordedChange(
            f"kueue {pair['number']}",
            pair["change"],
            Engine.KUEUE,
            (base, changed(base, pair["edit"])),
            kueue_objects.objects_of,
            (None, Outcome(stated, stated | everyone, is_exact=True)),
        )


def _kueue_flavors() -> Iterator[RecordedChange]:
    for pair in kueue_flavors.pairs():
        yield RecordedChange(
            f"kueue flavors {pair['seed']}",
            pair["change"],
            Engine.KUEUE,
            (pair["cluster"], changed(pair["cluster"], pair["head"])),
            kueue_flavor_objects.objects_of,
            _outcomes(pair, is_exact=True),
            kueue_flavor_objects.NOW,
        )


def _volcano() -> Iterator[RecordedChange]:
    for number, line in enumerate(volcano.lines("pairs.jsonl.gz")):
        sides = (line["cluster"], changed(line["cluster"], line["head"]))
        outcomes = _volcano_outcomes(line)
        yield RecordedChange(
            f"volcano {number}", line["direction"], Engine.VOLCANO, sides, volcano_objects.objects_of, outcomes
        )


def _volcano_trees() -> Iterator[RecordedChange]:
    for number, line in enumerate(volcano.lines("trees.jsonl.gz")):
        base, head = line["sides"]
        outcomes = _volcano_outcomes(line)
        yield RecordedChange(
            f"volcano tree {number}",
            line["direction"],
            Engine.VOLCANO,
            (base, head),
            volcano_tree_objects.objects_of,
            outcomes,
        )


RECORDED: Mapping[str, Callable[[], Iterator[RecordedChange]]] = {
    "kai": _kai,
    "kai shards": _kai_shards,
    "kueue": _kueue,
    "kueue flavors": _kueue_flavors,
    "volcano": _volcano,
    "volcano trees": _volcano_trees,
}


def _outcomes(pair: Mapping[str, Any], *, is_exact: bool) -> tuple[Outcome, Outcome]:
    base, head = (
        Outcome(frozenset(waiting), frozenset(waiting) | frozenset(demand), is_exact)
        for waiting, demand in zip(pair["waiting"], pair["demand"], strict=True)
    )
    return base, head


def _volcano_outcomes(line: Mapping[str, Any]) -> tuple[Outcome, Outcome]:
    base, head = (
        Outcome(
            frozenset.intersection(*(_gangs(outcome) for outcome in outcomes)),
            frozenset.union(*(_gangs(outcome) for outcome in outcomes), _gangs([demand])),
            is_exact=False,
        )
        for outcomes, demand in zip(line["waiting"], line["demand"], strict=True)
    )
    return base, head


def _gangs(cycles: list[list[str]]) -> frozenset[str]:
    return frozenset(name for cycle in cycles for name in volcano.gangs(cycle))
