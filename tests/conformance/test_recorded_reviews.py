"""Reviews of recorded changes, from policies and a snapshot to the report: the fates are those of the engines' runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from tests.conformance.recorded_changes import RECORDED, RecordedChange
from tests.conformance.recorded_reviews import AS_OF, CLUSTER, VERSIONS, recorded_review

from apportion_cli.exit_codes import ExitCode
from apportion_cli.main import main
from apportion_compiler.policy_writer.adoption import adopted_policy
from apportion_compiler.policy_writer.declarations import PolicyIdentity
from apportion_review.fates.records import Fate

KEPT = (Fate.SAFE, Fate.STUCK)
PER_DIRECTION = {"kai": 5, "kai shards": 5, "kueue": 15, "kueue flavors": 4, "volcano": 5, "volcano trees": 3}
"""Few of Kueue's changes evict workloads for pending ones."""
SEED = 17
NOW = "2026-11-02T00:00:00Z"
"""Later than any time in the snapshots."""


def sampled(name: str, n: int) -> Iterator[RecordedChange]:
    """Yield up to `n` changes of each direction."""
    directions: dict[str, list[RecordedChange]] = {}
    for change in RECORDED[name]():
        directions.setdefault(change.direction, []).append(change)
    random = Random(SEED)
    for direction in sorted(directions):
        yield from random.sample(directions[direction], min(n, len(directions[direction])))


def compared(change: RecordedChange) -> Iterator[tuple[int, Fate]]:
    """Review a change, compare both sides with the recorded outcome, and yield their fates.

    Where nodes or pods change, the head is reviewed on a snapshot of its own.
    """
    base, head = change.objects(0), change.objects(1)
    made = recorded_review(change.engine, base, head, now=change.now)
    for side, outcome in enumerate(change.outcomes):
        if outcome is None:
            continue
        if made.differing[side]:
            made = recorded_review(change.engine, base, head, now=change.now, snapshot_of=side)
        assert not made.differing[side], change.name
        assert made.fates, (change.name, made.review.clusters[0].why_no_fates)
        assert outcome.ever <= made.fates.keys(), change.name
        for name, verdicts in made.fates.items():
            fate = verdicts[side].fate
            where = f"{change.name} ({change.direction}) side {side} {name}: {verdicts[side]}"
            assert not (fate in KEPT and name in outcome.ever), where
            assert fate is Fate.EVICTED or name not in outcome.evicted, where
            assert not (outcome.is_exact and fate is Fate.EVICTED and name not in outcome.evicted), where
            yield side, fate


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_reviews_have_the_recorded_fates(name: str) -> None:
    fates: Counter[Fate] = Counter()
    for change in sampled(name, PER_DIRECTION[name]):
        fates.update(fate for _, fate in compared(change))
    # None of the comparisons is vacuous.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.ON_DEMAND, Fate.EVICTED)) >= 10, fates


def _written(change: RecordedChange, side: int, folder: Path) -> Sequence[str]:
    """Write the policy of a side as `apportion import` does; return the errors that keep it from compiling."""
    identity = PolicyIdentity("acme", "prod", "one", change.engine, VERSIONS[change.engine], "@acme/platform")
    files, notes = adopted_policy(change.objects(side), identity)
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [note.text for note in notes if "does not compile" in note.text]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kai", "kueue", "kueue flavors", "volcano"])
def test_command_has_fates_of_recorded_report(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    n_reviews = 0
    for number, change in enumerate(sampled(name, 1)):
        base, head = (tmp_path / f"{number}-{side}" for side in ("base", "head"))
        if _written(change, 0, base) or _written(change, 1, head) or n_reviews == 3:
            continue
        n_reviews += 1
        snapshot = tmp_path / f"{number}.json"
        snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": change.objects(0)}))
        policies = [str(folder / "policy.py") for folder in (base, head)]
        options = ["--snapshot", f"{CLUSTER}={snapshot}", "--as-of", AS_OF.isoformat(), "--now", NOW, "-o", "json"]
        capsys.readouterr()
        code = main(["review", *policies, *options])
        assert code in (ExitCode.OK, ExitCode.CHANGES)
        (cluster,) = json.loads(capsys.readouterr().out)["clusters"]
        shown = {row["name"]: (row["base"]["fate"], row["head"]["fate"]) for row in cluster["fates"]["workloads"]}
        made = recorded_review(change.engine, change.objects(0), change.objects(1), now=change.now)
        assert shown == {key: tuple(each.fate.value for each in verdicts) for key, verdicts in made.fates.items()}
    assert n_reviews
