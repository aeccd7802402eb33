"""The policy pack: no violations for compiled output, and the compiler's own rules for all other objects."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pulumi_policy", reason="the extra `pulumi` is not installed")

from pulumi_policy import EnforcementLevel, PolicyResource, StackValidationArgs, StackValidationPolicy

from apportion_compiler.emit.pulumi.applied_objects import AppliedState
from apportion_compiler.emit.pulumi.object_checks import (
    NOT_COMPILED,
    OVER_CAPACITY,
    POLICIES,
    REFUSED,
    UNBOUND_CLASS,
    UNOWNED,
    PolicyEvaluator,
)
from apportion_compiler.emit.pulumi.policy_pack import _LEVELS, judge_of, policies
from apportion_compiler.emit.pulumi.resource_names import resource_name, resource_type
from apportion_compiler.emit.pulumi.resource_options import owned
from apportion_compiler.emit.pulumi.settings import StackSettings
from apportion_compiler.engines.registry import ENGINES
from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects
from apportion_compiler.rollout.identity import identity_of

from .stack_runs import DAY, POLICY

pytestmark = pytest.mark.pulumi
_EVERY_RUN = ("kai", "kueue")
_ENGINES = [pytest.param(name, marks=() if name in _EVERY_RUN else pytest.mark.slow) for name in ENGINES]
Objects = list[tuple[str, dict[str, Any]]]


def judge_for(engine: str) -> PolicyEvaluator:
    return judge_of(StackSettings(str(POLICY), f"on-{engine}"), DAY, {})


@pytest.fixture(scope="module")
def kai() -> PolicyEvaluator:
    return judge_for("kai")


def compiled(evaluator: PolicyEvaluator) -> Objects:
    return [
        (resource_name(target, identity_of(m)), copy.deepcopy(dict(m)))
        for target, output in evaluator.compilation.outputs.items()
        for m in output.manifests
    ]


def said(evaluator: PolicyEvaluator, objects: Objects) -> dict[str, list[str]]:
    """What each policy of the pack reports when the engine asks it."""
    resources = [
        PolicyResource(resource_type(m), dict(owned(m)), f"urn::{name}", name, None, None, None, [], {})
        for name, m in objects
    ]
    reported: dict[str, list[str]] = {}
    for policy in policies(lambda: evaluator):
        assert isinstance(policy, StackValidationPolicy)
        found: list[str] = []
        policy.validate(StackValidationArgs(resources), lambda text, urn=None, found=found: found.append(text))
        if found:
            reported[policy.name] = found
    return reported


def one(objects: Objects, kind: str, name: str) -> dict[str, Any]:
    return next(m for _, m in objects if (m["kind"], m["metadata"]["name"]) == (kind, name))


@pytest.mark.parametrize("engine", _ENGINES)
def test_compiled_objects_pass_the_policy_pack(engine: str) -> None:
    evaluator = judge_for(engine)
    assert said(evaluator, compiled(evaluator)) == {}


def test_namespace_added_by_the_provider_is_ignored(kai: PolicyEvaluator) -> None:
    objects = compiled(kai)
    for name, m in objects:
        if "/Queue/" in name:
            m["metadata"]["namespace"] = "default"
    assert said(kai, objects) == {}


@pytest.mark.parametrize("engine", ["kai", pytest.param("native", marks=pytest.mark.slow)])
def test_packaged_scheduler_passes_the_policy_pack(engine: str) -> None:
    evaluator = judge_for(engine)
    scheduler = scheduler_objects(SchedulerDeployment("registry.example/apportion@sha256:" + "0" * 64))
    named = [(f"one/scheduler/{m['kind']}/{m['metadata']['name']}", dict(m)) for m in scheduler]
    assert said(evaluator, [*compiled(evaluator), *named]) == {}


def test_foreign_queue_is_a_violation(kai: PolicyEvaluator) -> None:
    objects = compiled(kai)
    foreign = copy.deepcopy(one(objects, "Queue", "ads"))
    foreign["metadata"] = {"name": "shadow"}
    found = said(kai, [*objects, ("shadow", foreign)])
    assert found[NOT_COMPILED] == ["Queue shadow: not generated from the policy; declare the queue in the policy"]
    marked = copy.deepcopy(one(objects, "Queue", "ads"))
    marked["metadata"]["name"] = "shadow"
    found = said(kai, [*objects, ("one/kai/Queue/shadow", marked)])
    assert "not generated from the policy, although it has Apportion's label" in found[NOT_COMPILED][0]


def test_queue_kept_for_a_later_update_passes(kai: PolicyEvaluator) -> None:
    objects = compiled(kai)
    gone = copy.deepcopy(one(objects, "Queue", "ads"))
    gone["metadata"]["name"] = "former"
    from apportion_compiler.emit.pulumi.applied_objects import AppliedTarget

    evaluator = PolicyEvaluator(kai.policy, kai.compilation, AppliedState({"one/kai": AppliedTarget((gone,))}), DAY)
    assert NOT_COMPILED not in said(evaluator, [*objects, ("one/kai/Queue/former", gone)])


def test_guarantee_above_parent_is_a_violation(kai: PolicyEvaluator) -> None:
    objects = compiled(kai)
    one(objects, "Queue", "vision")["spec"]["resources"]["gpu"]["quota"] = 24
    assert any("AP201" in text and "research" in text for text in said(kai, objects)[OVER_CAPACITY])


def test_guarantees_above_capacity_are_a_violation(kai: PolicyEvaluator) -> None:
    objects = compiled(kai)
    for name in ("vision", "research"):
        gpu = one(objects, "Queue", name)["spec"]["resources"]["gpu"]
        gpu["quota"], gpu["limit"] = 64, 64
    assert any("AP601" in text for text in said(kai, objects)[OVER_CAPACITY])


def test_queue_without_owner_is_a_violation(kai: PolicyEvaluator) -> None:
    objects = compiled(kai)
    for _, m in objects:
        m["metadata"].get("annotations", {}).pop("apportion.dev/owner", None)
        m.pop("subjects", None) if m["kind"] == "ClusterRoleBinding" else None
    assert any("AP115" in text for text in said(kai, objects)[UNOWNED])


def test_unused_priority_class_is_a_violation(kai: PolicyEvaluator) -> None:
    objects = compiled(kai)
    foreign = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "mine"},
        "value": 9,
    }
    found = said(kai, [*objects, ("one/kai/PriorityClass/mine", foreign)])
    assert found[UNBOUND_CLASS] == ["PriorityClass mine: not allowed by any queue in the policy"]


def test_objects_refused_by_the_webhook_are_a_violation() -> None:
    evaluator = judge_for("kueue")
    objects = compiled(evaluator)
    queue = one(objects, "ClusterQueue", "vision")
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"].reverse()
    assert said(evaluator, objects)[REFUSED]


def test_every_pack_policy_has_a_violation_test() -> None:
    source = Path(__file__).read_text()
    names = ("NOT_COMPILED", "OVER_CAPACITY", "UNOWNED", "UNBOUND_CLASS", "REFUSED")
    assert {globals()[name] for name in names if f"[{name}]" in source} == set(POLICIES)


def test_enforcement_levels() -> None:
    assert _LEVELS == {
        "none": EnforcementLevel.DISABLED,
        "advisory": EnforcementLevel.ADVISORY,
        "mandatory": EnforcementLevel.MANDATORY,
    }
