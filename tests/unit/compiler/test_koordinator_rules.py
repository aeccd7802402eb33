"""Rules on relations of Koordinator's quotas, and ignored fields, one fault at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.koordinator.rules import RULES

PREFIX = "quota.scheduling.koordinator.sh"
R, I = Effect.REJECTED, Effect.IGNORED  # noqa: E741


def quota(
    name: str, parent: str | None = None, *, namespace: str = "koordinator-system", **said: Any
) -> dict[str, Any]:
    labels = {f"{PREFIX}/is-parent": "false", **said.get("labels", {})}
    if parent is not None:
        labels[f"{PREFIX}/parent"] = parent
    amounts = {"cpu": "10", "nvidia.com/gpu": "4"}
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": {f"{PREFIX}/{key}": value for key, value in said.get("notes", {}).items()},
        },
        "spec": {"min": said.get("least", amounts), "max": said.get("most", amounts)},
    }


IS_PARENT = {f"{PREFIX}/is-parent": "true"}
FORCED = {f"{PREFIX}/allow-force-update": "true"}
TOP = quota("top", labels=IS_PARENT)

FAULTS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], Effect, str]] = {
    "no-parent": ([quota("a", "top")], [], R, "a has parentName top but not find parentInfo in quotaInfoMap"),
    "parent-is-none": (
        [quota("top"), quota("a", "top")], [], R, "a has parentName top but the parentQuotaInfo's IsParent is false"
    ),
    "other-keys": (
        [TOP, quota("a", "top", most={"cpu": 10}, least={})], [], R,
        ("failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: top's max keys are "
        "not the same with a's"),
    ),
    "min-keys": (
        [quota("top", labels=IS_PARENT, least={"cpu": 10}), quota("a", "top")], [], R,
        ("failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: a's min keys are "
        "not all included in top's"),
    ),
    "promised-more": (
        [TOP, quota("a", "top"), quota("b", "top", least={"cpu": 1})], [], R,
        "checkMinQuotaSum all children's MinQuota > current MinQuota, current: top",
    ),
    "promised-more-by-a-new-child": (
        [quota("b", "top", least={"cpu": 1})], [TOP, quota("a", "top")], R,
        "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: top",
    ),
    "promised-more-by-force": (
        [quota("top", labels=IS_PARENT | FORCED), quota("a", "top", labels=FORCED),
         quota("b", "top", least={"cpu": 1}, labels=FORCED)], [], I, "the children's min values add up to more than the min of top",
    ),
    "name-twice": ([quota("a"), quota("a", namespace="default")], [], R, "AddQuota quota already exist:a"),
    "name-there": ([quota("a")], [quota("a", namespace="default")], R, "AddQuota quota already exist:a"),
    "namespace-twice": (
        [quota("a", notes={"namespaces": '["x"]'}), quota("b", notes={"namespaces": '["x"]'})], [], R,
        "AddQuota quota b's annotation namespace x is already bound to quota a",
    ),
    "another-tree": (
        [TOP, quota("a", "top", labels={f"{PREFIX}/tree-id": "t"})], [], R,
        "a tree id is different from parent top, [t] vs []",
    ),
    "tree-changed": (
        [quota("a", labels={f"{PREFIX}/tree-id": "t"})], [quota("a")], R, "a tree id changed [] vs [t]"
    ),
    "parent-no-more": (
        [quota("top")], [TOP, quota("a", "top")], R,
        "quota has children, isParent is forbidden to modify as false, quotaName:top",
    ),
    "parent-with-pods": (
        [TOP], [quota("top"), {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "p", "namespace": "x", "labels": {f"{PREFIX}/name": "top"}}}], R,
        "quota has bound pods, isParent is forbidden to modify as true, quotaName: top",
    ),
    "koordinators-own": ([quota("koordinator-root-quota")], [], R, "invalid quota koordinator-root-quota"),
    "below-itself": (
        [quota("a", "b", labels=IS_PARENT), quota("b", "a", labels=IS_PARENT)], [], R, "a is its own ancestor"
    ),
    "bounded-above-parent": (
        [TOP, quota("a", "top", most={"cpu": 11, "nvidia.com/gpu": 4})], [], I,
        "max 11 exceeds the parent's max, 10, which is enforced for children only with enableCheckParentQuota",
    ),
    "no-weight-at-all": (
        [quota("a", notes={"shared-weight": '{"cpu":"0","nvidia.com/gpu":0}'})], [], I, "Koordinator treats them as unset"
    ),
    "weight-left-out": ([quota("a", notes={"shared-weight": '{"cpu":"1"}'})], [], I, "there is no weight for nvidia.com/gpu"),
    "flag": ([quota("a", labels={f"{PREFIX}/is-parent": "True"})], [], I, '"True" is neither "true" nor "false"'),
    "namespaces": ([quota("a", notes={"namespaces": "x"})], [], I, "not a JSON array of names"),
    "too-large": ([quota("a", most={"cpu": 10, "nvidia.com/gpu": "2E"})], [], I, "overflows when Koordinator adds up quotas"),
}  # fmt: skip


def test_valid_tree_passes() -> None:
    half = {"cpu": "5", "nvidia.com/gpu": 2}
    weight = {"shared-weight": '{"cpu":"1","nvidia.com/gpu":"3"}', "namespaces": '["x"]'}
    assert (
        list(RULES.check([quota("a", "top", least=half, notes=weight), quota("b", "top", least=half), TOP], ())) == []
    )


@pytest.mark.parametrize(("manifests", "existing", "effect", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_reported(
    manifests: list[dict[str, Any]], existing: list[dict[str, Any]], effect: Effect, message: str
) -> None:
    found = list(RULES.check(manifests, existing))
    assert any(verdict.effect is effect and message in verdict.message for verdict in found), found


def test_profile_root_is_a_valid_parent() -> None:
    profile = {
        "apiVersion": "quota.koordinator.sh/v1alpha1",
        "kind": "ElasticQuotaProfile",
        "metadata": {
            "name": "h100",
            "labels": {f"{PREFIX}/tree-id": "h100"},
            "annotations": {f"{PREFIX}/resource-keys": json.dumps(["cpu", "nvidia.com/gpu"])},
        },
        "spec": {"quotaName": "h100-root", "quotaLabels": IS_PARENT, "nodeSelector": {}},
    }
    child = quota("a", "h100-root", labels={f"{PREFIX}/tree-id": "h100"})
    assert list(RULES.check([profile, child], ())) == []
    bare = {**profile, "spec": {"quotaName": "h100-root", "nodeSelector": {}}}
    assert [verdict.effect for verdict in RULES.check([bare, child], ())] == [Effect.REJECTED]


def _configuration(**arguments: object) -> dict[str, Any]:
    plugins = [{"name": "ElasticQuota", "args": {"kind": "ElasticQuotaArgs", **arguments}}]
    text = json.dumps({"profiles": [{"pluginConfig": plugins}]})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "koord-scheduler-config", "namespace": "koordinator-system"},
        "data": {"koord-scheduler-config": text},
    }


def test_missing_scheduler_arguments_are_reported() -> None:
    found = [verdict.message for verdict in RULES.check([_configuration()], ())]
    assert [message.split(",")[0] for message in found] == [
        "ElasticQuotaArgs does not set enableCheckParentQuota",
        "ElasticQuotaArgs does not set monitorAllQuotas",
    ]


def test_parent_limits_hold_if_the_scheduler_checks_parents() -> None:
    above = quota("a", "top", most={"cpu": 11, "nvidia.com/gpu": 4})
    configured = _configuration(enableCheckParentQuota=True, monitorAllQuotas=True)
    assert list(RULES.check([TOP, above, configured], ())) == []


def test_batch_priority_class_is_reported() -> None:
    cls = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}, "value": 5500}
    (verdict,) = RULES.check([cls], ())
    assert (verdict.effect, verdict.field) == (Effect.IGNORED, "value")
    assert verdict.message == (
        "pods with a priority from 5000 to 5999 belong to the priority band koord-batch: their cpu and memory become batch "
        "resources, which cpu and memory quotas do not count"
    )
