"""The contents of a plan besides the objects of remaining targets."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")

from apportion_compiler.compile import Compilation, compile_policy
from apportion_compiler.emit.pulumi.applied_objects import AppliedState, AppliedTarget
from apportion_compiler.emit.pulumi.resource_options import owned, plain
from apportion_compiler.emit.pulumi.stack_targets import read_policy
from apportion_compiler.emit.pulumi.update_plan import next_update, plan_stack
from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects
from apportion_compiler.rollout.destructive_changes import QUEUE_WITH_CHILDREN, destructive_changes
from apportion_compiler.targets import targets_of

from .stack_runs import policy_in

pytestmark = pytest.mark.pulumi
DAY = date(2026, 11, 21)
SCHEDULER = SchedulerDeployment("registry.example/apportion@sha256:" + "0" * 64)


@pytest.fixture
def on_kai(tmp_path: Path) -> Compilation:
    policy = read_policy(str(policy_in(tmp_path) / "policy"))
    return compile_policy(policy, targets_of(policy, ("on-kai",)), DAY)


def _queue(name: str, parent: str | None) -> dict[str, Any]:
    labels = {"apportion.dev/queue-id": name, "apportion.dev/top-queue": parent or name}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "labels": labels},
        "spec": {"parent": parent or "root"},
    }


LEFT = AppliedState({"one/volcano": AppliedTarget((_queue("research", None), _queue("vision", "research")))})


def test_removed_target_is_planned_with_its_objects(on_kai: Compilation) -> None:
    plans = {plan.name: plan for plan in plan_stack(on_kai, LEFT).targets}
    gone = plans["one/volcano"]
    assert [(change.action, change.identity.name) for change in gone.changes] == [
        ("delete", "vision"),
        ("delete", "research"),
    ]
    assert gone.path_of(gone.changes[0]) == ("research", "vision")


def test_removing_a_target_with_child_queues_is_destructive(on_kai: Compilation) -> None:
    changes = next_update(on_kai, LEFT).changes_from(LEFT)
    assert QUEUE_WITH_CHILDREN in {change.kind for target in changes for change in destructive_changes(target)}


def test_added_and_removed_schedulers_are_planned(on_kai: Compilation) -> None:
    everything = next_update(on_kai, AppliedState()).applied.targets
    assert _planned(on_kai, AppliedState(everything), one=SCHEDULER) == {"one/scheduler": {"make"}}
    objects = tuple(plain(owned(manifest)) for manifest in scheduler_objects(SCHEDULER))
    held = AppliedState({**everything, "one/scheduler": AppliedTarget(objects)})
    assert _planned(on_kai, held, one=SCHEDULER) == {}
    assert _planned(on_kai, held) == {"one/scheduler": {"delete"}}


def _planned(compilation: Compilation, former: AppliedState, **schedulers: SchedulerDeployment) -> dict[str, set[str]]:
    targets = plan_stack(compilation, former, (), schedulers).targets
    return {target.name: {change.action for change in target.changes} for target in targets if target.changes}
