"""The packaged scheduler against the API server, with only its packaged RBAC permissions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .kubectl import Kubectl
from .live_scheduler import (
    NAMESPACE,
    PACKAGED,
    bind,
    bound,
    events,
    pending_reason,
    pod,
    report_running,
    scheduler,
    until,
)

pytestmark = pytest.mark.e2e


def _allocated(cluster: Kubectl, queue: str) -> str | None:
    status = cluster.get("queues.scheduling.run.ai", queue).get("status", {})
    allocated: str | None = status.get("allocated", {}).get("nvidia.com/gpu")
    return allocated


def _plugin(cluster: Kubectl, folder: Path, *arguments: str) -> str:
    """Return the output of `kubectl apportion`; kubectl finds the plugin on PATH."""
    script = folder / "kubectl-apportion"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m apportion_cli.kubectl.plugin "$@"\n')
    script.chmod(0o755)
    command = [str(cluster.binary), "apportion", *arguments]
    environment = {"PATH": f"{folder}:{os.defpath}", "KUBECONFIG": str(cluster.kubeconfig)}
    told = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_pods_are_bound_wait_and_are_taken_back_with_the_packaged_rights_alone(
    cluster: Kubectl, access: Path, tmp_path: Path
) -> None:
    log = tmp_path / "scheduler.log"
    with scheduler(access, log):
        # Idle devices are lent: one queue uses all four.
        for name in ("nlp-1", "nlp-2"):
            assert cluster.create(pod(name, "sched-nlp", 2)).accepted
        until(lambda: bound(cluster), lambda found: found == {"nlp-1", "nlp-2"}, log)
        groups = cluster.get("podgroups.scheduling.run.ai", f"--namespace={NAMESPACE}")["items"]
        assert {one["spec"]["queue"] for one in groups} == {"sched-nlp"}
        until(lambda: _allocated(cluster, "sched-all"), lambda found: found == "4", log)
        assert '["sched-nlp","sched-vision"]' in cluster.must("get", "queues.scheduling.run.ai", "sched-all").out
        # Another queue reclaims its guarantee.
        assert cluster.create(pod("vision-1", "sched-vision", 2)).accepted
        until(lambda: bound(cluster), lambda found: "vision-1" in found and len(found) == 2, log)
        # A pod above its queue's limit stays pending, and its condition has the reason.
        assert cluster.create(pod("vision-2", "sched-vision", 1)).accepted
        until(lambda: pending_reason(cluster, "vision-2"), lambda found: "sched-vision" in found, log)
        assert "vision-2" not in bound(cluster)
        shown = _plugin(cluster, tmp_path, "top")
        assert re.search(r"sched-vision +2 +2 +0 +2 ", shown), shown
        assert "sched-vision" in _plugin(cluster, tmp_path, "why", "vision-2")
    said = log.read_text()
    assert "forbidden" not in said
    assert "evicted 1 pod for scheduled/pg-vision-1-" in said
    assert "more than its quota of 2 GPUs): scheduled/nlp-" in said
    lease = cluster.get("lease", "apportion-scheduler", f"--namespace={PACKAGED.namespace}")
    assert lease["spec"]["holderIdentity"] == ""


@pytest.fixture
def unknown_kind(kubectl: Kubectl) -> Iterator[dict[str, Any]]:
    """An object of a kind that the packaged account may not read."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Foo", "plural": "foos", "singular": "foo"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    try:
        assert kubectl.create(definition).accepted
        kubectl.must("wait", "--for=condition=Established", "crd/foos.example.com", "--timeout=100s")
        made = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "foo", "namespace": NAMESPACE}}
        assert kubectl.create(made).accepted
        yield kubectl.get("foos.example.com", "foo", f"--namespace={NAMESPACE}")
    finally:
        kubectl.delete_objects([definition])


def test_pod_with_owner_of_unknown_kind_is_grouped_and_bound(
    cluster: Kubectl, access: Path, unknown_kind: dict[str, Any], tmp_path: Path
) -> None:
    log = tmp_path / "scheduler.log"
    made = pod("foo-0", "sched-nlp", 1)
    uid = unknown_kind["metadata"]["uid"]
    made["metadata"]["ownerReferences"] = [{"apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": uid}]
    with scheduler(access, log):
        assert cluster.create(made).accepted
        until(lambda: bound(cluster), lambda found: found == {"foo-0"}, log)
    (group,) = cluster.get("podgroups.scheduling.run.ai", f"--namespace={NAMESPACE}")["items"]
    assert group["metadata"]["name"] == f"pg-foo-{uid}"
    assert group["metadata"]["annotations"]["kai.scheduler/top-owner-metadata"] == (
        f"name: foo\nuid: {uid}\ngroup: example.com\nversion: v1\nkind: Foo\n"
    )


def _protect(cluster: Kubectl, name: str) -> None:
    """Create a disruption budget for one pod that allows no disruption; its controller is not here."""
    cluster.must("label", "pod", name, f"--namespace={NAMESPACE}", f"only={name}")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"only": name}}},
    }
    assert cluster.create(budget).accepted
    status = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    patch = json.dumps({"status": {**status, "disruptionsAllowed": 0}})
    cluster.must("patch", "pdb", name, f"--namespace={NAMESPACE}", "--subresource=status", "--type=merge", "-p", patch)


def test_unprotected_pod_is_evicted_instead_of_one_with_budget(cluster: Kubectl, access: Path, tmp_path: Path) -> None:
    log = tmp_path / "scheduler.log"
    with scheduler(access, log):
        for name in ("nlp-1", "nlp-2"):
            assert cluster.create(pod(name, "sched-nlp", 2)).accepted
        until(lambda: bound(cluster), lambda found: found == {"nlp-1", "nlp-2"}, log)
        for name in ("nlp-1", "nlp-2"):
            report_running(cluster, name)
        # The pod that would be evicted without the budget.
        _protect(cluster, "nlp-2")
        assert cluster.create(pod("vision-1", "sched-vision", 2)).accepted
        until(lambda: bound(cluster), lambda found: found == {"nlp-2", "vision-1"}, log)
        # A scheduler that ends drops the events that it has not written yet.
        for reason in ("Reclaimed", "EvictionRefused"):
            until(lambda reason=reason: events(cluster, reason), bool, log)
    said = log.read_text()
    assert "eviction of scheduled/nlp-2 for scheduled/pg-vision-1-" in said
    assert "disruption budget" in said
    assert [one["involvedObject"]["name"] for one in events(cluster, "Reclaimed")] == ["nlp-1"]
    (refused,) = events(cluster, "EvictionRefused")
    assert refused["involvedObject"]["kind"] == "PodGroup"


@pytest.fixture
def denied_binding(cluster: Kubectl) -> Iterator[str]:
    """The name of a pod whose binding admission rejects."""
    name = "gang-2"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    metadata = {"name": "no-binding"}
    # The code and the words are those of a missing permission, which would be temporary.
    said = 'forbidden: User "all" cannot: this pod must not be bound'
    validation = {"expression": f"object.metadata.name != '{name}'", "message": said, "reason": "Forbidden"}
    made = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": metadata["name"], "validationActions": ["Deny"]},
        },
    ]
    try:
        assert cluster.create(*made).accepted
        # The API server compiles a new policy in the background; no pod has this name yet.
        until(lambda: bind(cluster, name).said, lambda said: "must not be bound" in said)
        yield name
    finally:
        cluster.delete_objects(made)


def test_gang_with_one_rejected_bind_is_not_left_partially_bound(
    cluster: Kubectl, access: Path, denied_binding: str, tmp_path: Path
) -> None:
    log = tmp_path / "scheduler.log"
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": NAMESPACE},
        "spec": {"queue": "sched-nlp", "minMember": 4},
    }
    assert cluster.create(group).accepted
    for number in range(4):
        made = pod(f"gang-{number}", "sched-nlp", 1)
        made["metadata"]["annotations"] = {"pod-group-name": "gang"}
        assert cluster.create(made).accepted
    with scheduler(access, log):
        (rejected,) = until(lambda: events(cluster, "BindingRejected"), bool, log)
        until(lambda: bound(cluster), lambda found: not found, log)
        # The resources of the rejected gang are available to other pods, and its pods are not bound again.
        assert cluster.create(pod("vision-1", "sched-vision", 2)).accepted
        until(lambda: bound(cluster), lambda found: found == {"vision-1"}, log)
    assert f"rejected the binding of pod {denied_binding}" in rejected["message"]
    assert "this pod must not be bound" in rejected["message"]


def test_packaged_service_account_has_no_other_permissions(kubectl: Kubectl, access: Path) -> None:
    own = Kubectl(kubectl.binary, access)
    for verb, resource in (
        ("get", "secrets"),
        ("get", "configmaps"),
        ("create", "pods"),
        ("delete", "pods"),
        ("update", "pods"),
        ("delete", "nodes"),
        ("patch", "queues.scheduling.run.ai"),
        ("create", "clusterrolebindings"),
        ("update", "leases"),
    ):
        assert not own("auth", "can-i", verb, resource, "--all-namespaces").accepted, f"{verb} {resource}"
