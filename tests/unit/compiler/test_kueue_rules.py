"""Objects that Kueue rejects beyond the cases of its own table, and fields that it ignores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import context_of
from apportion_compiler.engines.kueue.rules import RULES
from apportion_compiler.engines.kueue.rules.request_parameters import overridden_parameters

API = "kueue.x-k8s.io/v1beta2"
REJECTED, IGNORED, PENDING = Effect.REJECTED, Effect.IGNORED, Effect.PENDING


def made(
    kind: str, name: str = "it", *, namespace: str | None = None, version: str = API, **spec: Any
) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def group(*resources: str, flavor: str = "default", **quota: object) -> dict[str, object]:
    quotas = [{"name": resource, "nominalQuota": 1, **quota} for resource in resources]
    return {"coveredResources": list(resources), "flavors": [{"name": flavor, "resources": quotas}]}


BOTH = group("cpu", "memory")
DEFAULT = made("ResourceFlavor", "default")


def queue(*groups: dict[str, object], **spec: Any) -> dict[str, Any]:
    return made("ClusterQueue", "queue", namespaceSelector={}, resourceGroups=list(groups or (BOTH,)), **spec)


def said(*manifests: dict[str, Any], stored: Sequence[dict[str, Any]] = ()) -> list[tuple[Effect, str, str]]:
    return [(v.effect, v.field, v.kind) for v in RULES.check(manifests, stored)]


def test_valid_queue_passes() -> None:
    assert said(DEFAULT, queue()) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"preemption": {"reclaimWithinCohort": "Always"}},
            (REJECTED, "spec.preemption.reclaimWithinCohort", "NotSupported"),
        ),
        ({"queueingStrategy": "FIFO"}, (REJECTED, "spec.queueingStrategy", "NotSupported")),
        ({"fairSharing": {"weight": "-1"}}, (REJECTED, "spec.fairSharing", "Invalid")),
        ({"fairSharing": {"weight": "1n"}}, (REJECTED, "spec.fairSharing", "Invalid")),
        (
            {"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
            (REJECTED, "spec.preemption", "Invalid"),
        ),
        (
            {"flavorFungibility": {"whenCanBorrow": "Borrow"}},
            (REJECTED, "spec.flavorFungibility.whenCanBorrow", "NotSupported"),
        ),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            (REJECTED, "spec.namespaceSelector.matchExpressions[0].values", "Required"),
        ),
        ({"admissionChecks": ["a"]}, (IGNORED, "spec.admissionChecks", "Invalid")),
        ({"cohortName": "c"}, (IGNORED, "spec.preemption.reclaimWithinCohort", "Invalid")),
        (
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "gone"}]}},
            (PENDING, "spec.admissionChecksStrategy.admissionChecks[0].name", "NotFound"),
        ),
    ],
)
def test_fields_of_a_queue(spec: dict[str, Any], expected: tuple[Effect, str, str]) -> None:
    assert said(DEFAULT, {**queue(), "spec": {**queue()["spec"], **spec}}) == [expected]


def test_queue_without_namespace_selector_admits_nothing() -> None:
    one = made("ClusterQueue", resourceGroups=[BOTH])
    assert said(DEFAULT, one) == [(IGNORED, "spec.namespaceSelector", "Required")]


def test_missing_flavor_makes_queue_inactive() -> None:
    assert said(queue()) == [(PENDING, "spec.resourceGroups[0].flavors[0].name", "NotFound")]


def test_uncovered_resource_keeps_work_pending() -> None:
    (verdict,) = RULES.check((DEFAULT, queue(group("nvidia.com/gpu"))), ())
    assert (verdict.effect, verdict.message) == (
        PENDING,
        "workloads that request cpu or memory are not admitted: no resource group covers such requests",
    )


def test_invalid_quotas_are_reported() -> None:
    found = said(DEFAULT, queue(group("cpu", "memory", nominalQuota="many")))
    assert found == [
        (REJECTED, f"spec.resourceGroups[0].flavors[0].resources[{n}].nominalQuota", "Invalid") for n in range(2)
    ]


def test_flavor_without_quota_for_each_resource_is_rejected() -> None:
    uneven = {"coveredResources": ["cpu", "memory"], "flavors": group("cpu")["flavors"]}
    assert said(DEFAULT, queue(uneven)) == [(REJECTED, "spec.resourceGroups[0].flavors[0].resources", "Invalid")]


def test_too_many_flavors_are_refused() -> None:
    many = [group(f"example.com/r{n}", flavor=f"f{n}") for n in range(257)]
    found = [v for v in RULES.check((queue(BOTH, *many),), ()) if v.effect is REJECTED]
    assert [v.field for v in found] == ["spec.resourceGroups"] * 2


@pytest.mark.parametrize("above", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "b"}])
def test_queues_below_a_cohort_cycle_admit_nothing(above: dict[str, str]) -> None:
    cohorts = [made("Cohort", name, parentName=parent) for name, parent in above.items()]
    below = {**queue(cohortName="a", preemption={"reclaimWithinCohort": "Any"})}
    found = said(DEFAULT, *cohorts, below)
    assert (PENDING, "spec.cohortName", "Invalid") in found
    assert len([one for one in found if one[1] == "spec.parentName"]) == len(above)


def test_missing_parent_cohort_is_ignored() -> None:
    assert said(made("Cohort", parentName="gone")) == [(IGNORED, "spec.parentName", "NotFound")]


def test_lending_limit_may_exceed_nominal_quota() -> None:
    lending = made("Cohort", parentName="above", resourceGroups=[group("cpu", lendingLimit=5)])
    assert said(DEFAULT, made("Cohort", "above"), lending) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"topologyName": "t"}, (REJECTED, "spec", "Invalid")),
        ({"nodeTaints": [{"key": "a", "effect": "Never"}]}, (REJECTED, "spec.nodeTaints[0].effect", "NotSupported")),
        (
            {"nodeTaints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "b", "effect": "NoSchedule"}]},
            (REJECTED, "spec.nodeTaints[1]", "Duplicate"),
        ),
        ({"tolerations": [{"operator": "Equal"}]}, (REJECTED, "spec.tolerations[0].operator", "Invalid")),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            (REJECTED, "spec.tolerations[0].value", "Invalid"),
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}]},
            (REJECTED, "spec.tolerations[0].effect", "Invalid"),
        ),
        ({"nodeLabels": {f"l{n}": "x" for n in range(9)}}, (REJECTED, "spec.nodeLabels", "TooMany")),
    ],
)
def test_fields_of_a_flavor(spec: dict[str, Any], expected: tuple[Effect, str, str]) -> None:
    assert [one for one in said(made("ResourceFlavor", **spec)) if one[0] is REJECTED] == [expected]


def _changed(kind: str, before: dict[str, Any], after: dict[str, Any]) -> list[Verdict]:
    return [v for v in RULES.check((made(kind, **after),), (made(kind, **before),)) if v.effect is REJECTED]


@pytest.mark.parametrize(
    ("kind", "before", "after", "field"),
    [
        ("LocalQueue", {"clusterQueue": "a"}, {"clusterQueue": "b"}, "spec.clusterQueue"),
        ("AdmissionCheck", {"controllerName": "a"}, {"controllerName": "b"}, "spec.controllerName"),
        (
            "ResourceFlavor",
            {"nodeLabels": {"a": "b"}, "topologyName": "a"},
            {"nodeLabels": {"a": "b"}, "topologyName": "b"},
            "spec",
        ),
        ("Topology", {"levels": [{"nodeLabel": "a"}]}, {"levels": [{"nodeLabel": "b"}]}, "spec.levels"),
    ],
)
def test_immutable_fields_are_reported(kind: str, before: dict[str, Any], after: dict[str, Any], field: str) -> None:
    assert [verdict.field for verdict in _changed(kind, before, after)] == [field]
    assert _changed(kind, before, before) == []


def test_levels_of_a_topology() -> None:
    levels = [{"nodeLabel": name} for name in ("kubernetes.io/hostname", "rack", "rack")]
    assert said(made("Topology", levels=levels)) == [(REJECTED, "spec.levels", "Invalid")] * 2


def test_check_without_configuration_is_inactive() -> None:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "dws"}
    check = made("AdmissionCheck", controllerName="kueue.x-k8s.io/provisioning-request", parameters=parameters)
    assert said(check) == [(PENDING, "spec.parameters.name", "NotFound")]
    config = made("ProvisioningRequestConfig", "dws", provisioningClassName="queued-provisioning.gke.io")
    assert said(config, check) == []


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"provisioningClassName": "Not A Class"}, "spec.provisioningClassName"),
        ({"parameters": {"a": "x" * 256}}, "spec.parameters[a]"),
        ({"managedResources": ["a", "a"]}, "spec.managedResources"),
        ({"podSetMergePolicy": "All"}, "spec.podSetMergePolicy"),
    ],
)
def test_fields_of_a_provisioning_configuration(spec: dict[str, Any], field: str) -> None:
    whole: dict[str, Any] = {"provisioningClassName": "queued-provisioning.gke.io", **spec}
    assert [one[1] for one in said(made("ProvisioningRequestConfig", **whole))] == [field]


def test_local_queue_requires_queue_and_namespace() -> None:
    local = made("LocalQueue", namespace="vision", clusterQueue="queue")
    assert said(local) == [(PENDING, "spec.clusterQueue", "NotFound")]
    by_name = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["ads"]}]}
    elsewhere = {**queue(), "spec": {**queue()["spec"], "namespaceSelector": by_name}}
    assert said(DEFAULT, elsewhere, local) == [(PENDING, "metadata.namespace", "Invalid")]
    assert said(DEFAULT, queue(), local) == []
    # Labels of a namespace that nobody showed may be anything.
    by_label = {**queue(), "spec": {**queue()["spec"], "namespaceSelector": {"matchLabels": {"team": "vision"}}}}
    assert said(DEFAULT, by_label, local) == []


def test_multikueue_check_must_be_the_only_one() -> None:
    remote = made(
        "AdmissionCheck", "remote", controllerName="kueue.x-k8s.io/multikueue", parameters={"kind": "MultiKueueConfig"}
    )
    checks = [{"name": "remote", "onFlavors": ["default"]}, {"name": "remote"}]
    found = said(DEFAULT, remote, queue(admissionChecksStrategy={"admissionChecks": checks}))
    path = "spec.admissionChecksStrategy.admissionChecks"
    assert found == [(PENDING, f"{path}[0].onFlavors", "Invalid"), (PENDING, path, "Invalid")]


def _workload(**spec: Any) -> dict[str, Any]:
    return made("Workload", namespace="vision", **spec)


def _pods(**more: object) -> dict[str, object]:
    return {"name": "main", "count": 2, "template": {"spec": {"containers": []}}, **more}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"podSets": [_pods(minCount=3)]}, "spec.podSets[0]"),
        ({"podSets": [_pods(minCount=1), _pods(minCount=1)]}, "spec.podSets"),
        ({"priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "a"}}, "spec"),
        (
            {"priority": 1, "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "PriorityClass", "name": "a"}},
            "spec.priorityClassRef",
        ),
        (
            {"podSets": [_pods(template={"spec": {"containers": [{"resources": {"requests": {"pods": 1}}}]}})]},
            "spec.podSets[0].template.spec.containers[0].resources.requests[pods]",
        ),
    ],
)
def test_fields_of_a_workload(spec: dict[str, Any], field: str) -> None:
    assert [one[1] for one in said(_workload(**spec))] == [field]


def test_admitted_workload_is_immutable() -> None:
    reserved = {**_workload(queueName="a"), "status": {"conditions": [{"type": "QuotaReserved", "status": "True"}]}}
    assert said(_workload(queueName="b"), stored=[reserved]) == [(REJECTED, "spec.queueName", "Invalid")]
    assert said(_workload(queueName="b"), stored=[_workload(queueName="a")]) == []


def test_annotation_that_replaces_a_parameter_of_the_configuration_is_never_provisioned() -> None:
    gpu = "nvidia.com/gpu"
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "dws"}]}}
    controller = "kueue.x-k8s.io/provisioning-request"
    reference = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "dws"}
    configured = {"provisioningClassName": "queued-provisioning.gke.io", "managedResources": [gpu]}
    cluster = (
        DEFAULT,
        queue(group("cpu", "memory", gpu, nominalQuota=8), **checks),
        made("LocalQueue", "local", namespace="team", clusterQueue="queue"),
        made("AdmissionCheck", "dws", controllerName=controller, parameters=reference),
        made("ProvisioningRequestConfig", "dws", **configured, parameters={"maxRunDurationSeconds": "86400"}),
    )

    def verdicts(seconds: str, resource: str = gpu) -> list[tuple[Effect, str, str]]:
        resources = {"requests": {resource: "1"}, "limits": {resource: "1"}}
        spec = {"containers": [{"name": "main", "image": "none", "resources": resources}], "restartPolicy": "Never"}
        job = made("Job", "work", namespace="team", version="batch/v1", suspend=True, template={"spec": spec})
        job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "local"}
        job["metadata"]["annotations"] = {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": seconds}
        found = overridden_parameters(context_of("kueue", (job,), cluster))
        return [(one.effect, one.field, one.kind) for one in found]

    field = "metadata.annotations[provreq.kueue.x-k8s.io/maxRunDurationSeconds]"
    assert verdicts("600") == [(PENDING, field, "NotSupported")]
    assert verdicts("86400") == verdicts("600", "cpu") == []
