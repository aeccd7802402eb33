"""For any response of a child and any content of a file, the reader returns a value or raises its own error.

Random edits of good input, and random structures, at each place where data of a pull request enters this process.
"""

from __future__ import annotations

import contextlib
import json
import random
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import pytest

from apportion_compiler.compile import Target, compile_policy
from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.emit.tree import render_target
from apportion_compiler.fixes_python import python_edit
from apportion_compiler.fixes_yaml import yaml_edit
from apportion_compiler.manifests.manifest_parser import read_manifests
from apportion_policy import (
    Accelerator,
    Cluster,
    Environment,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
    Rules,
    RuleSeverity,
    Waiver,
    wire,
)
from apportion_policy.documents import load_document
from apportion_policy.errors import DocumentFault
from apportion_policy.evaluation.answer import AnswerError, layers_line, outcome, read_answer, read_layers, whole_size
from apportion_policy.evaluation.confinement_layers import RaisedLayers
from apportion_policy.evaluation.crash_trace import innermost_frame
from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.tree import PolicyTree
from apportion_policy.source import SourceLocation
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.reader import read_scenario
from apportion_runtime.snapshots.document_loader import NotText, documents_of

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
        (layers_line(RaisedLayers(["seccomp"], [("landlock", "no")])) + said).decode(),
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
        innermost_frame(data, tree)

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


_VALUES: tuple[object, ...] = (
    "c", "prod", "p", "vision", "team", "lead", "3", "48", "0.17.0", "64Gi", "@acme/x", "kai", "volcano", 3, 7, 100, None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, 1.5, 1e308, "", "a", "b", "kube-system", "h100", "1/3", "10Gi",
    "-1", "1e9", "\x1b[31m", "\u202e", "\udcff", "../x", "a" * 5000, "unlimited", "2026-11-23", "AP201", "kueue", "native",
    [], {}, [[]], ["a"], {"a": "b"}, {"$at": 0}, {"$at": 10**30}, {"gpu": {"h100": 1}},
)  # fmt: skip


def _rich() -> Policy:
    pools = (
        NodePool(
            id="p", max_nodes=4, min_nodes=4, cpu=96, memory="1Ti", accelerator=Accelerator(model="h100", count=8)
        ),
    )
    clusters = [
        Cluster(name=engine, engine=engine, engine_version=version, pools=pools, share="1/2")
        for engine, version in (("kai", "0.17.0"), ("kueue", "0.18.3"), ("volcano", "1.13.0"), ("native", "1.34"))
    ]
    promised = Resources(cpu=8, memory="64Gi", gpu={"h100": 4})
    lead = Queue(id="lead", guaranteed=promised, limit=promised)
    team = Queue(id="team", parent=lead, namespaces=("team",), guaranteed=promised, over_quota_weight=2)
    return Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(lead, team),
        node_pools=pools,
        environments=(Environment(name="prod", clusters=tuple(clusters)),),
        waivers=(Waiver(code="AP201", address="queue lead", reason="r", owner="@acme/a", expires=date(2027, 1, 1)),),
        rules=Rules(severity={"AP604": RuleSeverity.OFF}),
    )


def _places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in steps:
        yield (*path, key)
        yield from _places(held, (*path, key))


def _judge_random(number: int, seed: int, folder: Path) -> int:
    """Check, emit and report policies with some modified values; return how many were valid policies."""
    chance = random.Random(seed)
    header, good = wire.dump(_rich()).split(b"\n", 1)
    places = [path for path in _places(json.loads(good)) if path[-1] != "$at"]
    n_policies = 0
    for at in range(number):
        document = json.loads(good)
        for path in chance.choices(places, k=chance.randrange(1, 3)):
            held = document
            with contextlib.suppress(KeyError, IndexError, TypeError):
                for step in path[:-1]:
                    held = held[step]
                alike = [value for value in _VALUES if type(value) is type(held[path[-1]])]
                held[path[-1]] = deepcopy(chance.choice(alike or _VALUES if chance.random() < 0.8 else _VALUES))
        try:
            policy = wire.load(header + b"\n" + json.dumps(document).encode(), folder)
        except wire.WireError:
            continue
        n_policies += 1
        try:
            scopes = [(e.name, c.name, c.engine.value) for e in policy.environments for c in e.clusters]
            targets = tuple(Target(*scope) for scope in dict.fromkeys(scopes) if "/" not in scope[0] + scope[1])
            compilation = compile_policy(policy, targets, date(2026, 11, 23))
            for target, output in compilation.outputs.items():
                render_target(output, {"environment": target.environment, "cluster": target.cluster})
        # Whatever is raised is the crash that this test looks for; it is raised again with the input that caused it.
        except Exception as fault:
            raise AssertionError(f"policy {at} of seed {seed}: {document!r}") from fault
    return n_policies


def test_random_policies_never_crash(tmp_path: Path, fixed_seed: int) -> None:
    assert _judge_random(60, fixed_seed, tmp_path) > 0


@pytest.mark.slow
def test_random_policies_keep_the_parent_below_600_mib(tmp_path: Path, fixed_seed: int) -> None:
    n_policies, peak_mib = _in_new_process(_judge_random, 600, fixed_seed, tmp_path)
    assert n_policies > 20
    assert peak_mib < 600


_Found = TypeVar("_Found")


def _in_new_process(
    task: Callable[[int, int, Path], _Found], number: int, seed: int, folder: Path
) -> tuple[_Found, int]:
    """Return the result of a task, and the peak memory in MiB of its own process, unaffected by other tests."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_with_peak, task, number, seed, folder).result()


def _with_peak(task: Callable[[int, int, Path], _Found], number: int, seed: int, folder: Path) -> tuple[_Found, int]:
    found = task(number, seed, folder)
    status = Path("/proc/self/status")
    if status.exists():
        # The peak of getrusage includes that of the process which called exec.
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return found, int(peak.split()[1]) // 1024
    return found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024**2


def _read_random(number: int, seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    good, readers = _good(), _readers(folder)
    for at in range(number):
        text = _edited(chance.choice(good), chance)
        for read in readers:
            try:
                read(text)
            # Readers raise only their own errors, which `_readers` handles: anything else is a crash, reported with the input.
            except Exception as fault:
                raise AssertionError(f"input {at} of seed {seed}: {text[:2_000]!r}") from fault


def test_random_input_never_crashes_a_reader(tmp_path: Path, fixed_seed: int) -> None:
    _read_random(100, fixed_seed, tmp_path)


@pytest.mark.slow
def test_random_input_keeps_the_reader_below_600_mib(tmp_path: Path, fixed_seed: int) -> None:
    _, peak_mib = _in_new_process(_read_random, 1_500, fixed_seed, tmp_path)
    assert peak_mib < 600
