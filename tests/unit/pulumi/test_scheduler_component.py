"""The packaged scheduler: registered resources where it is enabled, and its image."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.engine_lists import engines_except

pulumi = pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")

from apportion_compiler.emit.pulumi.settings import SettingsError, StackSettings, read_settings  # noqa: E402
from apportion_compiler.emit.pulumi.stack_config import Values  # noqa: E402
from apportion_compiler.emit.pulumi.stack_targets import (  # noqa: E402
    compile_stack,
    packaged_schedulers,
    unserved_sharing,
)
from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects  # noqa: E402

from .stack_runs import DAY, policy_in, run_stack  # noqa: E402

pytestmark = pytest.mark.pulumi
ROOT = Path(__file__).parents[3]
IMAGE = "registry.example/apportion@sha256:" + "0" * 64


def test_scheduler_runs_only_on_configured_clusters(tmp_path: Path) -> None:
    root = policy_in(tmp_path)
    without = run_stack(root, {"environment": "on-kai"})
    assert not [one for one in without.registered if one.type == "apportion:index:Scheduler"]
    run = run_stack(root, {"environment": "on-kai", "schedulers": {"one": {"image": IMAGE, "replicas": 3}}})
    (component,) = (one for one in run.registered if one.type == "apportion:index:Scheduler")
    below = [one for one in run.registered if one.parent == component.urn]
    assert {one.type.rpartition(":")[2] for one in below} == {
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Deployment",
        "Namespace",
        "PodDisruptionBudget",
        "Role",
        "RoleBinding",
        "Service",
        "ServiceAccount",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    deployment = run.objects["one/scheduler/Deployment/apportion-scheduler"]
    assert deployment.inputs["spec"]["replicas"] == 3
    assert deployment.inputs["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE


def test_rights_for_shared_gpus_are_granted_only_with_a_reservation_image() -> None:
    def rules(reservation: str | None) -> dict[str, list[str]]:
        objects: Sequence[Mapping[str, Any]] = scheduler_objects(SchedulerDeployment(IMAGE, reservation=reservation))
        return {
            f"{one['metadata'].get('namespace', '')}:{resource}": rule["verbs"]
            for one in objects
            for rule in one.get("rules", ())
            for resource in rule["resources"]
        }

    added = {key: verbs for key, verbs in rules("registry/reservation:v1").items() if key not in rules(None)}
    assert added == {":configmaps": ["create", "patch"], "kai-resource-reservation:pods": ["create", "delete"]}


def test_each_shard_has_a_deployment_and_a_lease_of_its_own(tmp_path: Path) -> None:
    run = run_stack(
        policy_in(tmp_path), {"environment": "on-kai", "schedulers": {"one": {"image": IMAGE, "shards": ["a", "b"]}}}
    )
    prefix = "one/scheduler"
    for shard in ("a", "b"):
        name = f"apportion-scheduler-{shard}"
        configuration = run.objects[f"{prefix}/ConfigMap/{name}"].inputs["data"]["scheduler.yaml"]
        assert f"shard: {shard}\n" in configuration
        assert f"lease: apportion-system/{name}\n" in configuration
        spec = run.objects[f"{prefix}/Deployment/{name}"].inputs["spec"]
        for kind in ("Service", "PodDisruptionBudget"):
            selector = run.objects[f"{prefix}/{kind}/{name}"].inputs["spec"]["selector"]
            assert selector.get("matchLabels", selector) == spec["template"]["metadata"]["labels"]
    assert len([name for name in run.objects if name.startswith(f"{prefix}/Deployment/")]) == 2
    (rule,) = (
        rule for rule in run.objects[f"{prefix}/Role/apportion-scheduler"].inputs["rules"] if "resourceNames" in rule
    )
    assert rule["resourceNames"] == ["apportion-scheduler-a", "apportion-scheduler-b"]


@pytest.mark.parametrize(("reservation", "expected"), [(None, 1), ("registry/reservation:v1", 0)])
def test_stack_warns_if_its_policy_shares_gpus_and_its_scheduler_does_not(
    reservation: str | None, expected: int
) -> None:
    policy = str(ROOT / "examples" / "seed-000-kai-ray" / "policy.py")
    schedulers = {"ray": SchedulerDeployment(IMAGE, reservation=reservation)}
    settings = StackSettings(policy=policy, environment="demo", schedulers=schedulers)
    warnings = list(unserved_sharing(compile_stack(settings, DAY), settings))
    assert len(warnings) == expected
    assert all(
        "the policy shares GPUs on ray, but the packaged scheduler does not schedule" in said for said in warnings
    )


_DECLARING = """
from apportion_policy import Cluster, Engine, Environment, KaiSettings, LiveScheduler, Organisation, Policy, Queue

live = LiveScheduler(reservation_image="registry/declared:v1")
cluster = Cluster(name="one", engine=Engine.KAI, engine_version="0.17.0", kai=KaiSettings(live_scheduler=live))
policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="research", namespaces=("research",), gpu_sharing=True),),
    environments=(Environment(name="prod", clusters=(cluster,)),),
)
"""


def test_reservation_image_of_the_policy_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(_DECLARING)
    for reservation, expected in ((None, "registry/declared:v1"), ("registry/set:v1", "registry/set:v1")):
        schedulers = {"one": SchedulerDeployment(IMAGE, reservation=reservation)}
        settings = StackSettings(policy=str(tmp_path), environment="prod", schedulers=schedulers)
        compilation = compile_stack(settings, DAY)
        assert packaged_schedulers(compilation, settings)["one"].reservation == expected
        assert list(unserved_sharing(compilation, settings)) == []


@pytest.mark.parametrize(
    ("schedulers", "said"),
    [
        ({"one": {}}, "must set image"),
        (
            {"one": {"image": "registry.example/one:v1"}},
            "schedulers.one: image `registry.example/one:v1` is invalid: it has",
        ),
        ({"one": {"image": IMAGE, "replica": 1}}, "unknown key replica; supported keys are"),
        ({"one": {"image": IMAGE, "engine": "ack"}}, "unknown key engine; supported keys are"),
        ({"one": {"image": IMAGE, "replicas": "two"}}, "replicas must be an integer"),
        ({"one": {"image": IMAGE, "shards": "a100"}}, "shards must be a list of SchedulingShard names"),
        ({"one": {"image": IMAGE, "reservation": True}}, "reservation must be a string"),
    ],
)
def test_invalid_setting_is_one_sentence(schedulers: dict[str, dict[str, Any]], said: str) -> None:
    values = Values({"apportion:policy": "policy", "apportion:schedulers": json.dumps(schedulers)})
    with pytest.raises(SettingsError, match=said):
        read_settings(values, "dev")


def test_unknown_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pulumi.RunError, match="apportion:schedulers lists mars, but this stack contains only one"):
        run_stack(policy_in(tmp_path), {"environment": "on-kai", "schedulers": {"mars": {"image": IMAGE}}})


@pytest.mark.parametrize("engine", engines_except(ack="it has a live scheduler", kai="it has a live scheduler"))
def test_cluster_of_another_engine_is_refused(tmp_path: Path, engine: str) -> None:
    told = (
        f"apportion:schedulers lists one with engine {engine}, but the packaged scheduler supports only ack or kai: "
        "remove one from apportion:schedulers, or set its engine to ack or kai"
    )
    with pytest.raises(pulumi.RunError, match=re.escape(told)):
        run_stack(policy_in(tmp_path), {"environment": f"on-{engine}", "schedulers": {"one": {"image": IMAGE}}})


def test_scheduler_of_an_ack_cluster_releases_jobs_and_touches_no_pods(tmp_path: Path) -> None:
    run = run_stack(policy_in(tmp_path), {"environment": "on-ack", "schedulers": {"one": {"image": IMAGE}}})
    configuration = run.objects["one/scheduler/ConfigMap/apportion-scheduler"].inputs["data"]["scheduler.yaml"]
    assert "engine: ack\n" in configuration
    assert "schedulerName" not in configuration
    rules = run.objects["one/scheduler/ClusterRole/apportion-scheduler"].inputs["rules"]
    written = {name: rule["verbs"] for rule in rules for name in rule["resources"] if "patch" in rule["verbs"]}
    assert written.keys() == {"jobs", "rayjobs", "queueunits", "queueunits/status"}
    policy = run.objects["one/scheduler/ValidatingAdmissionPolicy/apportion-scheduler"].inputs["spec"]
    matched = [rule["resources"] for rule in policy["matchConstraints"]["resourceRules"]]
    assert matched == [["jobs"], ["rayjobs"]]


def test_settings_of_pods_are_refused_on_an_ack_cluster(tmp_path: Path) -> None:
    schedulers = {"one": {"image": IMAGE, "shards": ["a"]}}
    told = "apportion:schedulers.one sets shards, but with engine ack, the packaged scheduler only releases"
    with pytest.raises(pulumi.RunError, match=told):
        run_stack(policy_in(tmp_path), {"environment": "on-ack", "schedulers": schedulers})


@pytest.mark.parametrize("engine", ["kai", "ack"])
def test_service_account_has_no_wildcard_rights(engine: str) -> None:
    for one in scheduler_objects(SchedulerDeployment(IMAGE, engine=engine)):
        for rule in one.get("rules", ()):
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
            assert "secrets" not in rule["resources"]


def test_pod_is_unprivileged_and_read_only() -> None:
    (deployment,) = (one for one in scheduler_objects(SchedulerDeployment(IMAGE)) if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def test_image_is_pinned_and_unprivileged() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    base = next(line for line in lines if line.startswith("ARG PYTHON="))
    assert re.fullmatch(r"ARG PYTHON=python:\d+\.\d+\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?", base)
    assert [line.split()[1] for line in lines if line.startswith("FROM ")] == ["${PYTHON}", "${PYTHON}"]
    assert "USER 65532:65532" in lines
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    kept = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert set(copied) <= kept
    assert any("--require-hashes" in line for line in lines)


def test_image_contains_files_linked_from_packages() -> None:
    lines = [line.split() for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")]
    copied = [ROOT / word for words in lines if not words[1].startswith("--") for word in words[1:-1]]
    links = [one for folder in copied if folder.is_dir() for one in folder.rglob("*") if one.is_symlink()]
    assert links
    assert [one for one in links if not any(one.resolve().is_relative_to(folder) for folder in copied)] == []
