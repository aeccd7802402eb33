"""`apportion explain --snapshot`: what it says of a snapshot that lacks what it is to explain."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.review.kai_objects import objects_of

from apportion_cli.snapshot_commands import snapshot_command

from .conftest import Run

CLUSTER = {
    "queues": {"root": {"quota": 16}, "a": {"quota": 16, "parent": "root"}},
    "pending": {"train": {"queue": "a", "gpus": 8}},
}


@pytest.fixture
def snapshot(tmp_path: Path) -> Callable[[str], str]:
    """Writes the cluster without the objects of a kind, and returns the file's name."""

    def write(kind: str) -> str:
        items = [made for made in objects_of(CLUSTER) if made["kind"] != kind]
        (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return "cluster.json"

    return write


@pytest.mark.parametrize(("kind", "subject", "name"), [("Queue", "queue", "a"), ("PodGroup", "job", "train")])
def test_snapshot_without_the_kind_is_refused_with_the_command_to_take_it(
    run: Run, snapshot: Callable[[str], str], kind: str, subject: str, name: str
) -> None:
    told = run("explain", subject, name, "--snapshot", snapshot(kind))
    assert (told.code, told.out) == (3, "")
    assert (
        f"apportion: error: cluster.json contains no KAI Scheduler {kind} objects; only KAI Scheduler snapshots can be explained"
        in told.err
    )
    assert f"hint: export the snapshot with all kinds: {snapshot_command('kai')}" in told.err


def test_job_is_suggested_by_the_name_of_its_owner(run: Run, snapshot: Callable[[str], str]) -> None:
    told = run("explain", "job", "train", "--snapshot", snapshot(""))
    assert told.code == 2
    assert "job train does not exist; did you mean a/pg-train?" in told.err
