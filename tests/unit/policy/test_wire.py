"""A policy passed to another process as data is equal to the original, including its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Override,
    Policy,
    Queue,
    Resources,
)
from apportion_policy.wire import WireError, dump, load


def _policy() -> Policy:
    pool = NodePool(id="p", max_nodes=4, provider=Gke(version="1.33.0-gke.1"))
    return Policy(
        organisation=Organisation(name="acme"),
        queues=(
            Queue(
                id="a",
                children=(Queue(id="b", guaranteed=Resources(gpu={"h100": 8})),),
                overrides=(Override(begin="2026-01-01", end="2026-02-01", reason="r", owner="@o", priority=3),),
            ),
        ),
        node_pools=(pool,),
        environments=(
            Environment(
                name="e", clusters=(Cluster(name="c", engine=Engine.KAI, engine_version="0.17.0", pools=(pool,)),)
            ),
        ),
    )


def test_policy_round_trips_with_locations() -> None:
    policy = _policy()
    loaded = load(dump(policy))
    assert loaded == policy
    assert loaded.queues[0].children[0].source.line == policy.queues[0].children[0].source.line
    assert loaded.queues[0].source.file == __file__
    assert dump(loaded) == dump(policy)


def test_files_are_relative_to_the_root() -> None:
    root = Path(__file__).parent
    assert load(dump(_policy()), root).queues[0].source.file == "test_wire.py"
    assert load(dump(_policy()), root / "elsewhere").queues[0].source.file == __file__


@pytest.mark.parametrize(
    "document",
    [b"", b"[]", b"[]\n[]", b"{}\n{}", b'["f"]\n{"organisation": {"name": 3}}', b'[]\n{"$at": [9, 1, 1, 1, 1, []]}', b"[]\n" + b"[" * 99999],
)  # fmt: skip
def test_invalid_documents_are_refused(document: bytes) -> None:
    with pytest.raises(WireError):
        load(document)
