"""Registrations of a stack's program: every object once, under the right parent, after its dependencies."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pulumi = pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")

from apportion_compiler.compile import compile_policy  # noqa: E402
from apportion_compiler.emit.pulumi.applied_objects import load  # noqa: E402
from apportion_compiler.emit.pulumi.environment_variables import FORMER, STAGED, UPSERT  # noqa: E402
from apportion_compiler.emit.pulumi.resource_options import FIELD_MANAGER_ANNOTATION, plain  # noqa: E402
from apportion_compiler.emit.pulumi.stack_targets import read_policy  # noqa: E402
from apportion_compiler.engines.registry import ENGINES  # noqa: E402
from apportion_compiler.targets import targets_of  # noqa: E402

from .stack_runs import DAY, Registered, Run, policy_in, run_stack  # noqa: E402

pytestmark = pytest.mark.pulumi


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return policy_in(tmp_path)


def up(root: Path, engine: str, last: Run | None = None, *, staged: bool = False, **config: Any) -> Run:
    return run_stack(
        root,
        {"environment": f"on-{engine}", **config},
        last=last.outputs if last is not None else None,
        environment={STAGED: "1"} if staged else {},
    )


def below(run: Run, one: Registered) -> list[str]:
    """The names of what a resource hangs below, the nearest first."""
    by_urn = {other.urn: other for other in run.registered}
    above: list[str] = []
    while one.parent in by_urn:
        one = by_urn[one.parent]
        above.append(one.name)
    return above


def waits_for(run: Run, name: str) -> set[str]:
    names = {one.urn: one.name for one in run.registered}
    return {names[urn] for urn in run.objects[name].waits if urn in names} & run.objects.keys()


@pytest.mark.parametrize("engine", ENGINES)
def test_every_object_is_registered_once(root: Path, engine: str) -> None:
    run = up(root, engine)
    policy = read_policy(str(root / "policy"))
    compiled = compile_policy(policy, targets_of(policy, (f"on-{engine}",)), DAY)
    wanted = [m for output in compiled.outputs.values() for m in output.manifests]
    assert len({one.urn for one in run.registered}) == len(run.registered)
    key = lambda m: (m["kind"], m["metadata"].get("namespace") or "", m["metadata"]["name"])  # noqa: E731
    given = sorted((dict(plain(one.inputs)) for one in run.objects.values()), key=key)
    assert given == sorted((dict(m) for m in wanted), key=key)


def test_objects_are_children_of_their_queue(root: Path) -> None:
    run = up(root, "kai")
    assert below(run, run.objects["one/kai/Queue/vision"]) == ["one/kai/vision", "one/kai/research", "one/kai"]
    assert below(run, run.objects["one/kai/Queue/research"]) == ["one/kai/research", "one/kai"]


def test_objects_use_server_side_apply_without_status(root: Path) -> None:
    queue = up(root, "kueue").objects["one/kueue/ClusterQueue/vision"]
    assert queue.inputs["metadata"]["annotations"][FIELD_MANAGER_ANNOTATION] == "apportion"
    assert queue.ignores == ("status",)
    assert "one" in queue.provider


def test_children_depend_on_their_parents(root: Path) -> None:
    assert "one/koordinator/ElasticQuota/koordinator-system/research" in waits_for(
        up(root, "koordinator"), "one/koordinator/ElasticQuota/koordinator-system/vision"
    )
    kueue = up(root, "kueue")
    local = next(name for name in kueue.objects if re.fullmatch("one/kueue/LocalQueue/vision/.*", name))
    assert "one/kueue/ClusterQueue/vision" in waits_for(kueue, local)


def test_immutable_fields_cause_replacement(root: Path) -> None:
    objects = up(root, "kai").objects.values()
    classes = [one for one in objects if one.type.endswith(":PriorityClass")]
    assert classes
    assert all(one.replaces == ("value", "preemptionPolicy") for one in classes)


def test_protection_covers_guaranteed_queues_if_enabled(root: Path) -> None:
    assert not any(one.protect for one in up(root, "native").objects.values())
    protected = {name for name, one in up(root, "native", protect="guaranteed").objects.items() if one.protect}
    assert "one/native/Namespace/vision" in protected
    assert any("/ResourceQuota/vision/" in name for name in protected)
    assert not any("RoleBinding" in name for name in protected)


@pytest.mark.parametrize(("config", "kinds"), [({}, {"Namespace"}), ({"deleteNamespaces": "true"}, set())])
def test_namespaces_are_retained_by_default(root: Path, config: dict[str, str], kinds: set[str]) -> None:
    """Deleting a namespace deletes every claim and secret in it."""
    run = up(root, "native", **config)
    assert {one.inputs["kind"] for one in run.objects.values() if one.retain_on_delete} == kinds


def test_move_to_another_depth_uses_an_alias(root: Path) -> None:
    before = up(root, "kai")
    moved = before.objects["one/kai/Queue/vision"]
    text = (root / "policy" / "organisation.py").read_text()
    text = text.replace(
        'department("research", amounts(14, 56), amounts(20, 80), vision(), speech()),',
        'department("research", amounts(14, 56), amounts(20, 80), speech()), vision(),',
    )
    (root / "policy" / "organisation.py").write_text(text)
    after = up(root, "kai", before).objects["one/kai/Queue/vision"]
    assert after.urn != moved.urn
    assert moved.urn in after.aliases


def test_urns_are_stable_when_a_team_moves(root: Path) -> None:
    before = up(root, "kueue")
    after = up(policy_in(root, "moved"), "kueue", before)
    assert {one.urn for one in before.objects.values()} <= {one.urn for one in after.objects.values()}


def test_urns_are_stable_when_a_team_is_renamed(root: Path) -> None:
    before = up(root, "kai")
    file = root / "policy" / "organisation.py"
    file.write_text(file.read_text().replace("Queue(id=id_, owner=", 'Queue(id=id_, title=f"Team {id_}", owner=', 1))
    after = up(root, "kai", before)
    assert {one.urn for one in before.registered} == {one.urn for one in after.registered}
    assert after.objects["one/kai/Queue/vision"].inputs != before.objects["one/kai/Queue/vision"].inputs


def test_objects_have_an_alias_for_every_former_depth(root: Path) -> None:
    before = up(root, "kai")
    after = up(root, "kai", before)
    queue, cluster_wide = after.objects["one/kai/Queue/vision"], after.objects["one/kai/PriorityClass/batch"]
    assert {urn.count("index:Queue") for urn in queue.aliases} == {0, 1}
    assert cluster_wide.aliases == frozenset()


def test_declaration_order_does_not_affect_the_program(root: Path) -> None:
    before = up(root, "kai")
    file = root / "policy" / "organisation.py"
    file.write_text(file.read_text().replace("vision(), speech())", "speech(), vision())", 1))
    after = up(root, "kai")
    assert {one.urn: one.waits for one in before.registered} == {one.urn: one.waits for one in after.registered}


def test_second_run_changes_nothing(root: Path) -> None:
    first = up(root, "volcano")
    second = up(root, "volcano", first)
    # Where an object was before is all that a second run can add.
    without = [tuple(replace(one, aliases=frozenset()) for one in run.registered) for run in (first, second)]
    assert without[0] == without[1]
    assert first.outputs == second.outputs


def test_stack_exports_what_it_applied(root: Path) -> None:
    run = up(root, "volcano")
    applied = load(run.outputs["applied"])
    assert set(applied.targets) == {"one/volcano", "one/native"}
    assert sum(len(target.objects) for target in applied.targets.values()) == len(run.objects)


def test_single_update_is_refused_if_several_are_needed(root: Path) -> None:
    grown = up(policy_in(root, "moved"), "volcano")
    (root / "policy" / "organisation.py").write_text(
        (root / "policy" / "organisation.py")
        .read_text()
        .replace(
            'department("product", amounts(12, 48), amounts(16, 64), search(), speech())',
            'department("product", amounts(8, 32), amounts(12, 48), search(), speech())',
        )
    )
    policy_in(root, "without-ads")
    with pytest.raises(
        pulumi.RunError, match=r"requires 2 consecutive updates.*nothing was changed.*apportion up on-volcano"
    ):
        up(root, "volcano", grown)
    first = up(root, "volcano", grown, staged=True)
    assert first.outputs["remaining"] == 1
    assert "one/volcano/Queue/ads" not in first.objects
    second = up(root, "volcano", first, staged=True)
    assert second.outputs["remaining"] == 0


def test_applied_state_is_read_from_a_file(root: Path, tmp_path: Path) -> None:
    run = up(root, "volcano")
    (tmp_path / "former").write_text(run.outputs["applied"])
    again = run_stack(root, {"environment": "on-volcano"}, environment={FORMER: str(tmp_path / "former")})
    assert again.outputs["remaining"] == 0


def test_existing_objects_are_imported_on_request(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UPSERT, "")
    run = up(root, "kai", **{"import": ["one/kai/Queue/vision"]})
    assert run.objects["one/kai/Queue/vision"].import_id == "vision"
    assert run.objects["one/kai/Queue/research"].import_id == ""
    assert os.environ[UPSERT] == "true"
    everything = up(root, "native", **{"import": "*"})
    assert everything.objects["one/native/Namespace/vision"].import_id == "vision"
    # The provider would make a binding anew that it did not write; applied by the server, it is taken over.
    assert everything.objects["one/native/RoleBinding/vision/apportion-team"].import_id == ""


def test_outputs_list_labels_for_workloads(root: Path) -> None:
    told = up(root, "kueue").outputs["queues"]["one"]["vision"]
    assert told["namespaces"] == ["vision"]
    assert told["labels"]["kueue.x-k8s.io/queue-name"] == told["workloadQueue"]
    assert "kind: Job" in told["bind"]


def test_policy_with_errors_registers_nothing(root: Path) -> None:
    file = root / "policy" / "organisation.py"
    file.write_text(file.read_text().replace("amounts(14, 56)", "amounts(1, 4)", 1))
    with pytest.raises(pulumi.RunError, match=r"policy/organisation.py:\d+: error\[AP201\]"):
        up(root, "kai")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"policy": "nowhere"}, "nowhere"),
        ({"environment": "mars"}, "environment mars does not exist"),
        ({"protect": "all"}, "apportion:protect must be none or guaranteed, not all"),
        ({"asOf": "soon"}, "apportion:asOf must be a date"),
        ({"transformation": "nowhere:f"}, "apportion:transformation: No module named"),
    ],
)
def test_invalid_setting_is_one_sentence(root: Path, config: dict[str, str], said: str) -> None:
    with pytest.raises(pulumi.RunError, match=re.escape(said)):
        run_stack(root, {"environment": "on-kai", **config})
