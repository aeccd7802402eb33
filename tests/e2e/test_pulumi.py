"""Pulumi's real engine against the API server: creation, update, drift, deletion and recovery from a crash of a stack.

They run where `pulumi` is on PATH. Engines that have no webhook here are judged by their rules, write after write, in
the order in which the API server took them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .compiled_trees import Tree, compile_policy, delete, identity
from .kubectl import Kubectl, Object
from .pulumi_stacks import SKIPS, Stack, project_in, watched
from .test_changes import refusals

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.pulumi,
    pytest.mark.skipif(shutil.which("pulumi") is None, reason=SKIPS),
]

QUEUES = {
    "kai": "queues.v2.scheduling.run.ai",
    "koordinator": "elasticquotas.v1alpha1.scheduling.sigs.k8s.io",
    "kueue": "clusterqueues.v1beta2.kueue.x-k8s.io",
    "volcano": "queues.v1beta1.scheduling.volcano.sh",
}
CHANGES = ("grown", "shrunk", "moved", "without-ads")

ClusterFor = Callable[[tuple[Tree, ...]], Kubectl]


@pytest.fixture
def stack(
    request: pytest.FixtureRequest, tmp_path: Path, cluster_for: ClusterFor
) -> Iterator[tuple[Stack, Callable[[str], set[tuple[str, ...]]]]]:
    """A project for one engine on its control plane, and the compiled objects of each state of its policy."""
    engine: str = request.param
    trees = compile_policy(_policy(tmp_path, "first"), tmp_path / "compiled", f"on-{engine}")[f"on-{engine}", "one"]
    cluster = cluster_for(trees)
    folder = tmp_path / "project"
    folder.mkdir()
    found = project_in(folder, f"on-{engine}", cluster)

    def wanted(state: str) -> set[tuple[str, ...]]:
        compiled = compile_policy(_policy(tmp_path, state), tmp_path / state, f"on-{engine}")[f"on-{engine}", "one"]
        return {identity(one) for tree in compiled for one in tree.objects()}

    try:
        yield found, wanted
    finally:
        found.pulumi("cancel", "--yes", "--stack", found.name)
        found.pulumi("destroy", "--yes", "--stack", found.name, "--skip-preview")


def _policy(folder: Path, state: str) -> Path:
    from .compiled_trees import POLICIES

    if not (folder / "compared").exists():
        shutil.copytree(POLICIES / "every-engine", folder / "compared")
    (folder / "compared" / "change.py").write_text(f'STATE = "{state}"\n')
    return folder / "compared"


def _held(stack: Stack, wanted: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the objects in the cluster with the project's label, of the wanted kinds."""
    kinds = {(version, kind) for version, kind, *_ in wanted}
    asked = ",".join(
        sorted(
            f"{kind.lower()}.{v.rpartition('/')[2]}.{v.rpartition('/')[0]}".rstrip(".") if "/" in v else kind.lower()
            for v, kind in kinds
        )
    )
    listed = stack.kubectl.get(asked, "--all-namespaces", "--selector", "app.kubernetes.io/managed-by=apportion")
    return {identity(one) for one in listed["items"]}


def _judge(engine: str, events: list[tuple[str, Object]], stored: dict[tuple[str, ...], Object]) -> None:
    """Check each write by the engine's rules, given the objects stored before it."""
    for type_, one in events:
        key = identity(one)
        if type_ == "DELETED":
            below = [o for o in stored.values() if (o["spec"].get("parentQueue") or o["spec"].get("parent")) == key[-1]]
            assert below == [], f"{key} was deleted above {below}"
            stored.pop(key, None)
        else:
            assert refusals(engine, one, tuple(stored.values())) == []
            stored[key] = one


@pytest.mark.parametrize("stack", QUEUES, indirect=True)
def test_stack_lifecycle(
    stack: tuple[Stack, Callable[[str], set[tuple[str, ...]]]],
) -> None:
    """Each state is reached by one run of `apportion up`, without a write that the engine would reject."""
    on, wanted = stack
    engine = on.name.removeprefix("on-")
    stored: dict[tuple[str, ...], Object] = {}
    objects: set[tuple[str, ...]] = set()
    for state in ("first", *CHANGES):
        on.write(state)
        seen: list[tuple[str, Object]] = []
        with watched(on.kubectl, QUEUES[engine], seen):
            done = on.run("up", "--yes", "-q")
        assert done.code == 0, done.said
        before, objects = objects, wanted(state)
        assert _held(on, objects | before) == objects, state
        _judge(engine, seen, stored)
    _changes_nothing(on)
    _tells_drift(on, engine)
    gone = on.pulumi("destroy", "--yes", "--stack", on.name, "--skip-preview")
    assert gone.code == 0, gone.out + gone.said
    assert _held(on, objects) == set()


def _changes_nothing(on: Stack) -> None:
    versions = _versions(on)
    again = on.run("up", "--yes", "-o", "json")
    assert again.code == 0, again.said
    document = again.json()
    assert all(target["changes"] == [] for target in document["targets"])
    assert _versions(on) == versions


def _versions(on: Stack) -> dict[str, str]:
    listed = on.kubectl.get(QUEUES[on.name.removeprefix("on-")], "--all-namespaces")["items"]
    return {one["metadata"]["name"]: str(one["metadata"]["generation"]) for one in listed}


def _tells_drift(on: Stack, engine: str) -> None:
    """Assert that a manual edit is reported with its value, and reverted on request."""
    assert on.run("drift").code == 0
    resource = QUEUES[engine]
    queue = next(
        one
        for one in on.kubectl.get(resource, "--all-namespaces")["items"]
        if one["metadata"].get("labels", {}).get("apportion.dev/queue-id") == "vision"
    )
    namespace = queue["metadata"].get("namespace")
    place = [f"--namespace={namespace}"] if namespace else []
    on.kubectl.must("label", resource, queue["metadata"]["name"], *place, "--overwrite", "apportion.dev/queue-id=mine")
    found = on.run("drift", "-o", "json")
    assert found.code == 10, found.said
    (one,) = found.json()["objects"]
    assert (one["state"], one["name"]) == ("changed", queue["metadata"]["name"])
    assert {"path": "metadata.labels[apportion.dev/queue-id]", "written": "vision", "there": "mine"} in one["fields"]
    healed = on.run("up", "--yes", "--refresh", "-q")
    assert healed.code == 0, healed.said
    assert on.run("drift").code == 0


CRASH = '''
"""Ends the engine, once, after some objects were registered."""

import os
import pathlib
import signal
import time

import pulumi

MARK = pathlib.Path(os.environ["CRASH_MARK"])
count = 0


def crash(args):
    global count
    count += args.type_.startswith("kubernetes:")
    if count == 8 and not MARK.exists() and not pulumi.runtime.is_dry_run():
        MARK.touch()
        time.sleep(1)
        os.kill(engine(os.getpid()), signal.SIGKILL)


def engine(pid):
    while pathlib.Path(f"/proc/{pid}/comm").read_text().strip() != "pulumi":
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid
'''


@pytest.mark.parametrize("stack", ["volcano"], indirect=True)
def test_interrupted_update_is_repaired(
    stack: tuple[Stack, Callable[[str], set[tuple[str, ...]]]],
) -> None:
    on, wanted = stack
    (on.folder / "stacks" / "crash.py").write_text(CRASH)
    on.variables["CRASH_MARK"] = str(on.folder / "crashed")
    on.write("first", transformation="crash:crash")
    crashed = on.run("up", "--yes")
    assert crashed.code == 3, crashed.said
    assert (on.folder / "crashed").exists()
    objects = wanted("first")
    assert _held(on, objects) < objects, "nothing was interrupted"
    locked = on.run("up", "--yes")
    assert (locked.code, "did not release its lock" in locked.said) == (3, True), locked.said
    kept = on.answer("up", with_="n")
    assert kept.code != 0
    assert "Clear the lock?" in kept.said or "Apply these changes?" in kept.said
    healed = on.answer("up", with_="y")
    assert healed.code == 0, healed.said
    assert "Clear the lock?" in healed.said
    assert _held(on, objects) == objects
    assert on.run("drift").code == 0


@pytest.mark.parametrize("stack", ["kai"], indirect=True)
def test_existing_objects_are_adopted_and_protected(
    stack: tuple[Stack, Callable[[str], set[tuple[str, ...]]]], tmp_path: Path
) -> None:
    on, wanted = stack
    trees = compile_policy(_policy(tmp_path, "first"), tmp_path / "adopted", on.name)[on.name, "one"]
    try:
        for tree in trees:
            answer = on.kubectl.apply(tree.files)
            assert answer.accepted, answer.said
        versions = _versions(on)
        on.write("first", **{"import": "*"}, protect="guaranteed", guard="true")
        adopted = on.run("up", "--yes", "-q")
        assert adopted.code == 0, adopted.said
        assert _versions(on) == versions
        on.write("without-ads", protect="guaranteed", guard="true")
        refused = on.run("up", "--yes", "-q")
        assert refused.code == 3
        assert "protect" in refused.said, refused.said
        assert ("scheduling.run.ai/v2", "Queue", "", "ads") in _held(on, wanted("first"))
        # An intended deletion must first be permitted in the state.
        freed = on.pulumi("state", "unprotect", "--all", "--yes", "--stack", on.name)
        assert freed.code == 0, freed.said
        on.write("first")
        back = on.run("up", "--yes", "-q")
        assert back.code == 0, back.said
    finally:
        delete(on.kubectl, *trees)


RAISE = '''
"""Promises vision more than there is."""

import copy

import pulumi


def raise_vision(args):
    if args.name.endswith("/Queue/vision"):
        props = copy.deepcopy(args.props)
        props["spec"]["resources"]["gpu"]["quota"] = 640
        return pulumi.ResourceTransformationResult(props=props, opts=args.opts)
'''


@pytest.mark.parametrize("stack", ["kai"], indirect=True)
def test_policy_pack_stops_a_changed_guarantee(
    stack: tuple[Stack, Callable[[str], set[tuple[str, ...]]]],
) -> None:
    on, wanted = stack
    (on.folder / "stacks" / "raising.py").write_text(RAISE)
    on.write("first", transformation="raising:raise_vision", enforcement="mandatory")
    stopped = on.run("preview")
    assert stopped.code == 3
    assert "guarantee-over-capacity" in stopped.said
    assert "AP201" in stopped.said
    assert _held(on, wanted("first")) == set()
    on.write("first", enforcement="mandatory")
    clean = on.run("preview")
    assert clean.code == 0, clean.said
