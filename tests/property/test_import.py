"""Importing a backend's output gives a policy that compiles to the same objects."""

from __future__ import annotations

import runpy
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Feature, Manifest
from apportion_compiler.backends.quota_tree import cluster_sizes
from apportion_compiler.compile import compile_policy
from apportion_compiler.diagnostics.diagnostic import has_errors
from apportion_compiler.emit.tree import object_key
from apportion_compiler.fidelity import fidelity
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.policy_writer.declarations import PolicyIdentity
from apportion_compiler.policy_writer.files import policy_files
from apportion_compiler.readers import READERS
from apportion_compiler.readers.cluster_reader import read_cluster
from apportion_compiler.targets import targets_of
from apportion_policy import UNLIMITED, Cluster, Engine, Environment, Organisation, Policy, Resources
from apportion_policy import Queue as DeclaredQueue
from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import GPU

from .strategies import AS_OF, names, policies

pytestmark = pytest.mark.property

ACME = Path(__file__).parents[2] / "examples" / "acme"
ANYTHING = {"kai", "volcano", "yunikorn"}
"""Engines whose objects round-trip for any policy. The others round-trip only for consistent policies, since they emit
guarantees above a limit or the capacity as the largest amount that the engine accepts."""
UNSHRUNK = settings(max_examples=15, phases=(Phase.explicit, Phase.reuse, Phase.generate))
"""No shrinking: a failing policy is large, and shrinking it takes minutes."""
ENGINES = sorted(READERS.keys() & BACKENDS.keys() - {"native"})


def _programs(policy: Policy) -> Iterator[Program]:
    graph = build_graph(declare(policy), AS_OF)
    return (lower(graph, scope) for scope in graph.scopes)


def _manifests(program: Program) -> tuple[Manifest, ...]:
    """Return the manifests of a cluster: the engine's and the native ones."""
    outputs = (BACKENDS[name].emit(program) for name in dict.fromkeys((program.engine, "native")))
    return tuple(manifest for output in outputs for manifest in output.manifests)


def _imported(program: Program) -> Policy:
    identity = PolicyIdentity(
        program.organisation, program.environment, program.cluster, Engine(program.engine), program.engine_version
    )
    files, _ = policy_files(read_cluster(program.engine, _manifests(program)), identity)
    return evaluate(files)


def evaluate(files: Mapping[str, str]) -> Policy:
    """Write a policy's files and evaluate them in this process."""
    held = list(sys.path)
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        try:
            policy = runpy.run_path(str(Path(folder, "policy.py")))["policy"]
        finally:
            sys.path[:] = held
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None)).startswith(folder):
                    del sys.modules[name]
    assert isinstance(policy, Policy)
    return policy


def _by_key(manifests: tuple[Manifest, ...]) -> dict[Any, Manifest]:
    return {object_key(manifest): manifest for manifest in manifests}


@pytest.mark.parametrize("engine", ENGINES)
@UNSHRUNK
@given(data=st.data())
def test_import_and_compile_round_trip(engine: str, data: st.DataObject) -> None:
    policy = data.draw(policies(5, names, engine))
    if engine in ANYTHING or _is_sound(policy):
        for program in _programs(policy):
            _assert_nothing_changes(program)


def test_sum_of_children_beyond_a_quantity_round_trips() -> None:
    half = Resources(memory=2**62 + 2**40)
    children = tuple(DeclaredQueue(id=id_, guaranteed=half) for id_ in "bc")
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(DeclaredQueue(id="a", limit=half, children=children),),
        environments=(
            Environment(name="prod", clusters=(Cluster(name="main", engine=Engine.VOLCANO, engine_version="1.16"),)),
        ),
    )
    for program in _programs(policy):
        _assert_nothing_changes(program)


@pytest.mark.parametrize("engine", ENGINES)
def test_import_and_compile_round_trip_of_acme(engine: str) -> None:
    for program in _programs(_acme(engine)):
        _assert_nothing_changes(program)


@UNSHRUNK
@given(policies(5, names, "kueue"))
def test_kueue_to_volcano_loses_only_what_the_report_lists(policy: Policy) -> None:
    if "volcano" in ENGINES and _is_sound(policy):
        for program in _programs(policy):
            _assert_only_reported_losses(program, "volcano")


@pytest.mark.parametrize("other", ENGINES)
def test_kueue_to_other_engines_loses_only_what_the_report_lists(other: str) -> None:
    for program in _programs(_acme("kueue")):
        _assert_only_reported_losses(program, other)


def _assert_nothing_changes(program: Program) -> None:
    (again,) = _programs(_imported(program))
    before, after = _by_key(_manifests(program)), _by_key(_manifests(again))
    assert after.keys() == before.keys()
    changed = {key: (before[key], after[key]) for key in before if after[key] != before[key]}
    assert changed == {}


def _assert_only_reported_losses(program: Program, other: str) -> None:
    """Compile a policy imported from one engine for another, import the result, and compare the policies."""
    moved = _on_engine(_imported(program), other)
    (before,) = _programs(moved)
    (after,) = _programs(_imported(before))
    lost = {line.feature for line in fidelity(before, BACKENDS[other]) if line.verdict != "exact"} - _KEPT[other]
    for queue, again in zip(before.queues, after.queues, strict=True):
        kept = (_restricted(queue, before), _restricted(again, after))
        for feature, (left, right) in {**_compared(queue, again, before), _POOLS: kept}.items():
            assert left == right or lost & feature, (queue.id, feature, left, right)


_KEPT: Mapping[str, frozenset[Feature]] = defaultdict(
    frozenset,
    ack=frozenset({Feature.GUARANTEED}),
    koordinator=frozenset({Feature.LENDING_LIMIT}),
    kueue=frozenset({Feature.EXTENDED_RESOURCES}),
    volcano=frozenset({Feature.GUARANTEED}),
    yunikorn=frozenset({Feature.GUARANTEED}),
)
"""Features that an engine approximates although its objects have the values of the policy."""


def _compared(queue: Queue, again: Queue, before: Program) -> dict[frozenset[Feature], tuple[object, object]]:
    """Yield the values of a queue before and after, by the features that would lose them."""
    # Koordinator requires a maximum on every quota; one of the capacity has no effect.
    sizes = cluster_sizes(before, sorted({*queue.limit, *again.limit}))
    by_model = {Feature.GPU_MODEL_QUOTA, Feature.MIXED_GPU_COUNTING, Feature.EXTENDED_RESOURCES}
    weights = {Feature.OVER_QUOTA_WEIGHT, Feature.WEIGHT_PER_RESOURCE}
    return {
        frozenset({Feature.QUEUE_TREE}): (queue.path, again.path),
        frozenset({Feature.GUARANTEED, *by_model}): (_some(queue.guaranteed), _some(again.guaranteed)),
        frozenset({Feature.LIMIT, *by_model}): (_bounded(queue.limit, sizes), _bounded(again.limit, sizes)),
        frozenset({Feature.LENDING_LIMIT, *by_model}): (_bounded(queue.lending_limit), _bounded(again.lending_limit)),
        # cpu and memory may be unmanaged; every queue here has GPUs.
        frozenset(weights): (queue.weight[GPU], again.weight[GPU]),
        frozenset({Feature.QUEUE_PRIORITY}): (queue.priority, again.priority),
        frozenset({Feature.NAMESPACES}): (queue.namespaces, again.namespaces),
        frozenset({Feature.ALLOWED_CLASSES}): (_classes(queue), _classes(again)),
    }


def _classes(queue: Queue) -> tuple[str, ...] | None:
    """Return the classes of a leaf with namespaces; without one, no object records them."""
    return queue.priority_classes if queue.namespaces else None


_POOLS = frozenset({Feature.ALLOWED_POOLS, Feature.GPU_MODEL_QUOTA})


def _restricted(queue: Queue, program: Program) -> tuple[str, ...] | None:
    """Return the pools of a leaf that is restricted to some pools."""
    return None if not queue.is_leaf or len(queue.pools) == len(program.pools) else queue.pools


def _some(amounts: Mapping[str, Amount]) -> dict[str, Amount]:
    """Return the finite guarantees; engines represent unlimited ones by an absent value."""
    return {resource: amount for resource, amount in amounts.items() if amount not in (0, UNLIMITED)}


def _bounded(amounts: Mapping[str, Amount], sizes: Mapping[str, int] | None = None) -> dict[str, Amount]:
    known = sizes or {}
    return {r: a for r, a in amounts.items() if not isinstance(a, Unlimited) and a != known.get(r)}


def _is_sound(policy: Policy) -> bool:
    return not has_errors(compile_policy(policy, targets_of(policy), AS_OF).diagnostics)


def _on_engine(policy: Policy, engine: str) -> Policy:
    """Return the policy with a different engine for every cluster."""
    environments = tuple(
        environment.model_copy(
            update={
                "clusters": tuple(
                    cluster.model_copy(update={"engine": Engine(engine)}) for cluster in environment.clusters
                )
            }
        )
        for environment in policy.environments
    )
    return policy.model_copy(update={"environments": environments})


@cache
def _acme(engine: str) -> Policy:
    files = {str(path.relative_to(ACME)): path.read_text(encoding="utf-8") for path in sorted(ACME.rglob("*.py"))}
    return _on_engine(evaluate(files), engine)
