"""Seed 002 live: the packaged scheduler releases real Jobs and RayJobs as the simulated kube-queue does.

The day of the example is simulated on machines with room for every job, so that quotas alone decide. Its arrivals, changes
of priority and ends are then repeated on the API server one after the other; after each, the same jobs must have been
released, in the same order, and the others wait for the same reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance.seed_day import with_room

from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects
from apportion_runtime.engines.ack.model import MODEL as ACK
from apportion_runtime.kube.connection import Connection, connect
from apportion_runtime.kube.errors import Refused
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Manifest, Scenario
from apportion_runtime.sim.scenario.reader import read_scenario

from .access_audit import permissions, requests, size
from .command_line import REPOSITORY
from .compiled_trees import Tree, compile_policy, delete
from .control_plane import AUDIT_LOG, ControlPlane
from .job_controllers import JobControllers
from .kubectl import Kubectl, Object
from .live_scheduler import ACCOUNT, add_node, packaged_account, scheduler, until

pytestmark = pytest.mark.e2e

EXAMPLE = REPOSITORY / "examples" / "seed-002-ack-kube-queue"
PACKAGED = SchedulerDeployment("apportion:test", engine="ack")
NODE = "ack-1"
LISTED = ("jobs.batch", "rayjobs.ray.io")
ENQUEUED = "kube-queue/job-enqueue-timestamp"
HOURS = 8
LONGEST_BACKOFF_S = 20.0
"""Of kube-queue: after that, nothing changes until the next step."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens to the jobs, and what the simulated kube-queue has done before the next step.

    Attributes:
        at_s: When, in seconds since the start of the day.
        what: `arrived`, `done`, `priority` or `jumped`.
        job: The name of the job.
        priority: The priority that its QueueUnit gets.
        released: The jobs that were released until then, in order.
        waiting: Why each of the others waits.
    """

    at_s: float
    what: str
    job: str
    priority: int = 0
    released: tuple[str, ...] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)


def _scenario() -> Scenario:
    """Return the scenario of the example with room for all jobs."""

    def read(name: str) -> list[dict[str, Any]]:
        return list(yaml.safe_load_all((EXAMPLE / name).read_text()))

    document = with_room(yaml.safe_load((EXAMPLE / "scenario.yaml").read_text()))
    return read_scenario(yaml.safe_dump({**document, "until": f"{HOURS}h"}), read, ACK.workload_labels)


def _steps(objects: Sequence[Manifest], scenario: Scenario) -> tuple[Step, ...]:
    """Return the steps of a simulation."""
    history = Cluster(list(objects), scenario, ACK).run()
    made: list[Step] = []
    released: list[str] = []
    waiting: dict[str, str] = {}
    for fact in history.facts:
        job = fact.workload
        match fact.what:
            case "arrived" | "done" | "priority" | "jumped":
                moved = re.search(r"to (\d+), rank", fact.why)
                made.append(Step(fact.at_s, fact.what, job, int(moved[1]) if moved else 0))
            case "finished" if ("done", job) not in ((step.what, step.job) for step in made):
                # Without a cluster that is kept, the job ends with its work.
                made.append(Step(fact.at_s, "done", job))
            case "dequeued":
                released.append(job)
                waiting.pop(job, None)
            case "backoff":
                waiting[job] = fact.why.partition("; position")[0]
            case _:
                continue
        made[-1] = replace(made[-1], released=tuple(released), waiting=dict(waiting))
    return tuple(made)


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Tree]:
    """The compiled trees of the example's cluster."""
    return compile_policy(EXAMPLE, tmp_path_factory.mktemp("seed-002"))["demo", "ray"]


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return _scenario()


@pytest.fixture(scope="module")
def simulated(trees: Sequence[Tree], scenario: Scenario) -> Sequence[Step]:
    (tree,) = (tree for tree in trees if tree.target == "ack")
    return _steps(list(tree.objects()), scenario)


@pytest.fixture
def department(
    plane: ControlPlane, kubectl: Kubectl, trees: Sequence[Tree], scenario: Scenario
) -> Iterator[JobControllers]:
    """The cluster of the example, with a node on which every pod runs."""
    for tree in trees:
        answer = kubectl.apply(tree.files)
        assert answer.accepted, answer.said
    assert kubectl.create(*scenario.objects).accepted
    node = add_node(kubectl, NODE)
    namespaces = frozenset(str(work.manifest["metadata"]["namespace"]) for work in scenario.works)
    controllers = JobControllers(connect(str(kubectl.kubeconfig)), NODE, namespaces)
    try:
        with controllers.running():
            yield controllers
    finally:
        delete(kubectl, *trees)
        kubectl.must("delete", "queues.scheduling.x-k8s.io", "--all", "--namespace=kube-queue")
        kubectl.delete_objects([node])


def _submitted(manifest: Manifest) -> dict[str, Any]:
    """Return a workload of the scenario as a user creates it."""
    made: dict[str, Any] = json.loads(json.dumps(manifest))
    cluster = made["spec"].get("rayClusterSpec", {})
    groups = [group for group in (cluster.get("headGroupSpec"), *cluster.get("workerGroupSpecs", ())) if group]
    for group in groups:
        group.setdefault("rayStartParams", {})
    for template in [group["template"] for group in groups] or [made["spec"]["template"]]:
        spec = template["spec"]
        # No kubelet ends it.
        spec["terminationGracePeriodSeconds"] = 0
        spec["restartPolicy"] = "Never"
        for container in spec["containers"]:
            container.setdefault("image", "none")
    return made


def _annotated(kubectl: Kubectl, annotation: str) -> set[str]:
    """Return the jobs with an annotation of kube-queue."""
    found = kubectl.get(",".join(LISTED), "--all-namespaces")["items"]
    return {str(one["metadata"]["name"]) for one in found if annotation in one["metadata"].get("annotations", {})}


def _released(kubectl: Kubectl) -> set[str]:
    """Return the jobs that are not suspended."""
    found = kubectl.get(",".join(LISTED), "--all-namespaces")["items"]
    return {str(one["metadata"]["name"]) for one in found if not one["spec"]["suspend"]}


def _waiting(kubectl: Kubectl) -> dict[str, str]:
    """Return why each queued job waits, by the status of its QueueUnit."""
    units = kubectl.get("queueunits.scheduling.x-k8s.io", "--all-namespaces")["items"]
    phases = {one["spec"]["consumerRef"]["name"]: one["status"] for one in units}
    return {
        name: status["message"] for name, status in phases.items() if status["phase"] not in ("Dequeued", "Running")
    }


def _set_priority(kubectl: Kubectl, job: str, priority: int) -> None:
    (unit,) = (
        one["metadata"]
        for one in kubectl.get("queueunits.scheduling.x-k8s.io", "--all-namespaces")["items"]
        if one["spec"]["consumerRef"]["name"] == job
    )
    patch = json.dumps({"spec": {"priority": priority}})
    name, namespace = unit["name"], unit["namespace"]
    kubectl.must("patch", "queueunit", name, f"--namespace={namespace}", "--type=merge", "-p", patch)


def test_day_of_the_example_is_released_as_simulated(
    plane: ControlPlane,
    kubectl: Kubectl,
    department: JobControllers,
    scenario: Scenario,
    simulated: Sequence[Step],
    tmp_path: Path,
) -> None:
    audit, log = plane.folder / AUDIT_LOG, tmp_path / "scheduler.log"
    manifests = {str(work.manifest["metadata"]["name"]): work.manifest for work in scenario.works}
    offset = size(audit)
    # A second process takes over while jobs wait, of which two have got another priority.
    n_first = 1 + [step.what for step in simulated].index("jumped")
    logs: list[str] = []
    with packaged_account(plane, kubectl, PACKAGED) as access:
        for part in (range(n_first), range(n_first, len(simulated))):
            with scheduler(access, log, "--engine=ack"):
                for number in part:
                    step, following = simulated[number], simulated[number + 1 :][:1]
                    _take(kubectl, department, step, manifests)
                    if all(other.at_s - step.at_s > LONGEST_BACKOFF_S for other in following):
                        _settle(kubectl, step, log)
            logs.append(log.read_text())
    order = [name for said in logs for name in re.findall(r"dequeued \w+ [\w-]+/([\w-]+) from queue", said)]
    assert tuple(order) == simulated[-1].released
    assert simulated[-1].waiting == {}
    _check_permissions(audit, offset)


def _take(kubectl: Kubectl, department: JobControllers, step: Step, manifests: Mapping[str, Manifest]) -> None:
    """Let a step happen; an arrival is complete when the job is in its queue."""
    match step.what:
        case "arrived":
            answer = kubectl.create(_submitted(manifests[step.job]))
            assert answer.accepted, answer.said
            until(lambda: _annotated(kubectl, ENQUEUED), lambda found: step.job in found)
        case "done":
            department.finish(step.job)
        case _:
            _set_priority(kubectl, step.job, step.priority)


def _settle(kubectl: Kubectl, step: Step, log: Path) -> None:
    """Wait until the simulated jobs are released and the others wait for the simulated reasons; no other is released."""
    expected = set(step.released), dict(step.waiting)
    until(lambda: (_released(kubectl), _waiting(kubectl)), lambda found: found == expected, log)


def _check_permissions(audit: Path, offset: int) -> None:
    """Each permission of the account was needed, and none was missing."""
    granted = set(permissions(scheduler_objects(PACKAGED)))
    made = set(requests(audit, offset, ACCOUNT))
    by_request = {request: [one for one in granted if one.permits(request)] for request in made}
    used = {by[0] for by in by_request.values() if len(by) == 1}
    missing = sorted({str(request) for request, by in by_request.items() if not by})
    unused = sorted(str(one) for one in granted - used)
    assert {"requests without permission": missing, "permissions that no request needs": unused} == {
        "requests without permission": [],
        "permissions that no request needs": [],
    }


def _mentions(text: str) -> Callable[[str], bool]:
    return lambda said: text in said


def _refusal(connection: Connection, patch: Object) -> str:
    """Return why the API server refuses a patch of the job `held`; nothing is stored."""
    path = "/apis/batch/v1/namespaces/default/jobs/held?dryRun=All"
    try:
        connection.request("PATCH", path, patch, content_type="application/merge-patch+json")
    except Refused as refused:
        return str(refused)
    return ""


def test_account_only_suspends_and_resumes_jobs(plane: ControlPlane, kubectl: Kubectl) -> None:
    container = {"name": "main", "image": "none"}
    spec = {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    held = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "held", "namespace": "default"}, "spec": spec}
    permitted = {"metadata": {"annotations": {ENQUEUED: "now"}}, "spec": {"suspend": False}}
    refused: Mapping[str, Object] = {
        "in a job's spec, the scheduler may change only the suspend field": {"spec": {"parallelism": 7}},
        "in a job's metadata, the scheduler may change only the annotations": {"metadata": {"labels": {"other": "1"}}},
        "on a job, the scheduler may change only these annotations: kube-queue/": {
            "metadata": {"annotations": {"other": "1"}}
        },
    }
    assert kubectl.create(held).accepted
    try:
        with packaged_account(plane, kubectl, PACKAGED) as access:
            own = connect(str(access))
            # The API server compiles a new policy in the background.
            for why, patch in refused.items():
                until(partial(_refusal, own, patch), _mentions(why))
            assert _refusal(own, permitted) == ""
    finally:
        kubectl.delete_objects([held])
