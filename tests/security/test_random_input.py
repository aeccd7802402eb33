"""Whatever a child answers and whatever a file holds, the reader ends in a value or in an error of its own.

Random edits of good input, and random structures, at each place where data of a pull request enters this process.
"""

from __future__ import annotations

import contextlib
import json
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.fixes_python import python_edit
from apportion_compiler.fixes_yaml import yaml_edit
from apportion_compiler.manifests.reading import read_manifests
from apportion_policy import Organisation, Policy, Queue, wire
from apportion_policy.documents import load_document
from apportion_policy.errors import DocumentFault
from apportion_policy.evaluation.answer import AnswerError, layers_line, outcome, read_answer, read_layers, whole_size
from apportion_policy.evaluation.crash_trace import innermost_place
from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.layers import Raised
from apportion_policy.evaluation.tree import PolicyTree
from apportion_policy.source import SourceLocation
from apportion_runtime.sim.scenario_fields import ScenarioError
from apportion_runtime.sim.scenario_reading import read_scenario
from apportion_runtime.snapshots.loading import NotText, documents_of

pytestmark = pytest.mark.security

_TOKENS = (
    "[", "]", "{", "}", ":", ",", "- ", "\n", "\n  ", '"', "'", "&a ", "*a", "<<: *a", "!!binary ", "!!python/object:os.system ",
    "? ", "| ", "> ", "%YAML 1.2\n", "---\n", "...\n", "#", "null", "true", "NaN", "Infinity", "-Infinity", "1e999", "9" * 400,
    "9" * 5000, "-1", "0x1f", "1_000", "0.1", "2026-99-99", "2026-11-23T00:00:00Z", "\x00", "\x1b[31m", "\u202e", "\\ud800", "\U0001f600",
    "\ufeff", "a" * 300, "queues", "name", "kind", "metadata", "$at", "organisation", "children", "apiVersion", "items", "workloads",
    "nodes", "[" * 300, "{a: " * 300, "- " * 300, "(" * 300, "-" * 3000, "[[[[[", "]]]]]",
)  # fmt: skip
_EDIT = ("a", "b")


def _good() -> list[str]:
    policy = Policy(organisation=Organisation(name="acme"), queues=(Queue(id="a"),))
    document = wire.dump(policy)
    said = outcome(faults=[Fault("no-policy", "none", "/p/policy.py", 1)], files=["/p/policy.py"], document=document)
    return [
        (layers_line(Raised(["seccomp"], [("landlock", "no")])) + said).decode(),
        document.decode(),
        "organisation: {name: acme}\nqueues:\n- id: a\n  children: [{id: b}]\n",
        "name: a\nuntil: 60\nnodes: [{pool: p, count: 1, gpus: 8}]\nworkloads: [{kind: Job, name: a, gpus: 1, at: 0}]\n",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n",
        json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"a": "b"}}}),
    ]


def _edited(text: str, chance: random.Random) -> str:
    for _ in range(chance.randrange(1, 6)):
        at, length = chance.randrange(len(text) + 1), chance.choice((0, 0, 1, 5, 50))
        text = text[:at] + "".join(chance.choices(_TOKENS, k=chance.randrange(3))) + text[at + length :]
    return text


def _readers(folder: Path) -> list[Callable[[str], object]]:
    tree = PolicyTree(str(folder), str(folder / "policy.py"))
    document = folder / "policy.yaml"

    def policy_document(text: str) -> None:
        document.write_bytes(text.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(DocumentFault):
            load_document(document)

    def answered(text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        for read in (read_answer, read_layers, whole_size):
            with contextlib.suppress(AnswerError):
                read(data)
        with contextlib.suppress(wire.WireError):
            wire.load(data)
        innermost_place(data, tree)

    def scenario(text: str) -> None:
        with contextlib.suppress(ScenarioError):
            read_scenario(text, lambda _: [])

    def snapshot(text: str) -> None:
        with contextlib.suppress(NotText):
            list(documents_of(text))

    def fixes(text: str) -> None:
        yaml_edit(text, ValueEdit(SourceLocation("policy.yaml", 1, 0), _EDIT, 1))
        python_edit(text, ValueEdit(SourceLocation("policy.py", 1, 0), _EDIT, 1))

    return [policy_document, answered, scenario, snapshot, fixes, lambda text: read_manifests(text, "a.yaml")]


def _read_random(number: int, seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    good, readers = _good(), _readers(folder)
    for at in range(number):
        text = _edited(chance.choice(good), chance)
        for read in readers:
            try:
                read(text)
            except Exception as fault:
                raise AssertionError(f"input {at} of seed {seed}: {text[:2_000]!r}") from fault


def test_random_input_ends_in_a_value_or_an_error_of_the_reader(tmp_path: Path, fixed_seed: int) -> None:
    _read_random(100, fixed_seed, tmp_path)


@pytest.mark.slow
def test_many_random_inputs_keep_the_reader_below_600_mib(tmp_path: Path, fixed_seed: int) -> None:
    _read_random(1_500, fixed_seed, tmp_path)
    unit = 1 if sys.platform == "darwin" else 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit < 600 * 1024**2
