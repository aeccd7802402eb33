"""Objects of any structure: rules return verdicts and readers one-sentence errors, without exceptions."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.manifests.manifest_parser import read_manifests
from apportion_compiler.readers import READERS
from apportion_compiler.readers.cluster_reader import read_cluster

pytestmark = pytest.mark.security

GOLDEN = Path(__file__).parents[1] / "golden"
WEIRD: tuple[Any, ...] = (
    None, "", 0, -1, 1.5, True, [], {}, "x", [1], [{}], {"a": 1}, [None], "9" * 30, {"": {}}, ["a", {"b": []}],
)  # fmt: skip


@pytest.mark.parametrize("engine", READERS)
@pytest.mark.parametrize("seed", range(2))
def test_rules_handle_objects_of_any_shape(engine: str, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        manifests = [_disturbed(chance) for _ in range(chance.randint(1, 5))]
        list(ENGINE_RULES[engine].check(manifests, ()))
        list(workload_verdicts(engine, manifests))
        with suppress(ValueError):
            read_cluster(engine, manifests)


def _disturbed(chance: random.Random) -> dict[str, Any]:
    """Draw a valid object with some fields removed or of a different type."""
    by_kind = _sound()
    manifest = copy.deepcopy(chance.choice(by_kind[chance.choice(sorted(by_kind))]))
    for _ in range(chance.randint(0, 3)):
        path = chance.choice([p for p in _paths(manifest) if p and p[0] not in ("apiVersion", "kind")])
        held = manifest
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = copy.deepcopy(chance.choice(WEIRD))
    return manifest


@cache
def _sound() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(GOLDEN.glob("*/expected/**/*.yaml")):
        for placed in read_manifests(file.read_text(encoding="utf-8"), file.name).objects:
            manifest: Any = placed.manifest
            found.setdefault(manifest["kind"], []).append(manifest)
    return found


def _paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))
