"""Jobs in Kueue's queues, submitted as a team member, and the conditions of their Workloads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from .kubectl import Kubectl, Object

_DECIDED_S = 120
_REQUESTS = "provisioningrequests.autoscaling.x-k8s.io"


def workload_of(kubectl: Kubectl, work: Object) -> Object | None:
    """Return the Workload that Kueue created for an object, if any."""
    (found,) = workloads_of(kubectl, work)
    return found


def workloads_of(kubectl: Kubectl, *works: Object) -> list[Object | None]:
    """Return the Workload of each object; None if Kueue created none."""
    made = {
        (one["metadata"]["namespace"], owner["kind"], owner["name"]): dict(one)
        for one in kubectl.get("workloads.kueue.x-k8s.io", "--all-namespaces")["items"]
        for owner in one["metadata"].get("ownerReferences", ())
    }
    return [made.get((work["metadata"]["namespace"], work["kind"], work["metadata"]["name"])) for work in works]


def condition(one: Object, type_: str) -> dict[str, Any]:
    """Return a condition of an object; empty if it has none of the type."""
    found = (dict(held) for held in one.get("status", {}).get("conditions", ()) if held["type"] == type_)
    return next(found, {})


def wait_for(
    kubectl: Kubectl, work: Object, wanted: Callable[[Object], bool], what: str, *, limit_s: float = _DECIDED_S
) -> Object:
    """Return an object's Workload once it meets a condition; on timeout, fail the test and print its conditions."""
    deadline = time.monotonic() + limit_s
    while True:
        found = workload_of(kubectl, work)
        if found is not None and wanted(found):
            return found
        assert time.monotonic() < deadline, (
            f"{work['kind']} {work['metadata']['name']} is not {what}: "
            f"{None if found is None else found.get('status', {}).get('conditions')}"
        )
        time.sleep(0.2)


def is_admitted(one: Object) -> bool:
    """Return whether a Workload is admitted."""
    return condition(one, "Admitted").get("status") == "True"


def holds_quota(one: Object) -> bool:
    """Return whether quota is reserved for a Workload; its admission checks may still be pending."""
    return condition(one, "QuotaReserved").get("status") == "True"


def is_held_back(one: Object) -> bool:
    """Return whether a Workload is pending for lack of quota."""
    return condition(one, "QuotaReserved").get("status") == "False"


def is_preempted(one: Object) -> bool:
    """Return whether a Workload was preempted."""
    return condition(one, "Preempted").get("status") == "True"


def may_run(kubectl: Kubectl, work: Object) -> bool:
    """Return whether a Job is not suspended."""
    name, namespace = work["metadata"]["name"], work["metadata"]["namespace"]
    return not kubectl.get("job", name, f"--namespace={namespace}")["spec"]["suspend"]


def submit(kubectl: Kubectl, *jobs: Object, as_group: str | None = None) -> None:
    """Create Jobs as a member of the namespace's team or of a group; each must be accepted without a warning."""
    for work in jobs:
        team = work["metadata"]["namespace"].partition("-")[0]
        answer = kubectl.as_user("vera", as_group or f"@lab/{team}").create(work)
        assert answer.accepted, answer.said
        assert answer.said == ""


def admit(kubectl: Kubectl, *jobs: Object) -> None:
    """Create Jobs one after another, and wait until each is admitted."""
    for work in jobs:
        submit(kubectl, work)
        wait_for(kubectl, work, is_admitted, "admitted")
        _wait_until_it_runs(kubectl, work)


def _wait_until_it_runs(kubectl: Kubectl, work: Object) -> None:
    meta = work["metadata"]
    flags = ("--for=jsonpath={.spec.suspend}=false", f"job/{meta['name']}", f"--namespace={meta['namespace']}")
    kubectl.must("wait", "--timeout=100s", *flags)


def clear(kubectl: Kubectl) -> None:
    """Delete every Job and its Pods, and wait until the Workloads have released their quota."""
    kubectl.must("delete", "jobs", "--all", "--all-namespaces", "--cascade=foreground", "--wait=false")
    deadline = time.monotonic() + _DECIDED_S
    while left := kubectl.get("jobs,workloads.kueue.x-k8s.io", "--all-namespaces")["items"]:
        assert time.monotonic() < deadline, f"not deleted: {[one['metadata']['name'] for one in left]}"
        time.sleep(0.2)


def wait_until_active(kubectl: Kubectl, kinds: str = "clusterqueues.kueue.x-k8s.io") -> None:
    """Return when every object of some kinds is active."""
    deadline = time.monotonic() + _DECIDED_S
    while True:
        inactive = [one for one in kubectl.get(kinds)["items"] if condition(one, "Active").get("status") != "True"]
        if not inactive:
            return
        assert time.monotonic() < deadline, [(one["metadata"]["name"], condition(one, "Active")) for one in inactive]
        time.sleep(0.2)


def evicted(kubectl: Kubectl, *jobs: Object) -> list[Object]:
    """Return the evicted Workloads of Jobs: those admitted before and not now."""
    found = workloads_of(kubectl, *jobs)
    return [one for one in found if one is not None and condition(one, "Evicted").get("status") == "True"]


def provisioning_requests(kubectl: Kubectl) -> list[Object]:
    """Return the ProvisioningRequests of a cluster."""
    return list(kubectl.get(_REQUESTS, "--all-namespaces")["items"])


def answer_request(kubectl: Kubectl, request: Object, type_: str) -> None:
    """Set the condition of a request, `Provisioned` or `Failed`, as the autoscaler does."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    said = {"status": "True", "reason": type_, "message": f"{type_} by the test", "lastTransitionTime": now}
    patch = {"status": {"conditions": [{"type": "Accepted", **said}, {"type": type_, **said}]}}
    meta = request["metadata"]
    flags = ("--subresource=status", "--type=merge", f"--namespace={meta['namespace']}", "--patch", json.dumps(patch))
    kubectl.must("patch", _REQUESTS, meta["name"], *flags)
