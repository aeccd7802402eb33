"""`kubectl apportion` on an API server in this process: what it prints, its exit codes, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.plugin_clusters import Plugin, grouped, queue_with
from tests.unit.cli.test_fit import made_policy, policy_text
from tests.unit.review.fit_clusters import bound, compiled, job, snapshot
from tests.unit.runtime.kube.api_server import ApiServer, Rejection, Sent
from tests.unit.runtime.kube.objects import pod, pod_group, queue

from apportion_cli.kubectl.plugin import main
from apportion_runtime.kube.cluster_reader import SNAPSHOT

pytest.importorskip("kubernetes", reason="the extra `kube` is not installed")


def test_top_shows_guaranteed_used_borrowed_and_limit_in_eighty_columns(plugin: Plugin) -> None:
    told = plugin("top")
    assert told.code == 0
    assert told.out.splitlines() == [
        "8 GPUs in the cluster",
        "",
        "QUEUE                     USED GUARANTEED BORROWED   LIMIT 0                  8",
        "all                          6          8        0       - ===============.....",
        "  nlp                        6          4        2       6 ==========+++++|",
        "  vision                     0          4        0       - ..........",
        "",
        "=  used within the guarantee   +  borrowed   .  guaranteed and free   |  limit",
    ]
    assert max(map(len, told.out.splitlines())) <= 80
    page = Path(__file__).parents[3] / "docs/kubectl-plugin.md"
    assert f"$ kubectl apportion top\n{told.out}```" in page.read_text(encoding="utf-8")


def test_top_as_json_has_the_same_amounts(plugin: Plugin) -> None:
    document = json.loads(plugin("top", "-o", "json").out)
    assert document["capacity"] == 8
    assert [(q["queue"], q["used"], q["guaranteed"], q["borrowed"], q["limit"]) for q in document["queues"]] == [
        ("all", 6, 8, 0, None),
        ("nlp", 6, 4, 2, 6),
        ("vision", 0, 4, 0, None),
    ]


@pytest.mark.parametrize("name", ["late", "pg-late", "late-job", "job/late-job", "pod/late"])
def test_pod_workload_and_gang_have_same_explanation(plugin: Plugin, name: str) -> None:
    told = plugin("why", name)
    assert told.code == 0
    assert "pg-late" in told.out
    assert "nlp" in told.out
    assert "limit" in told.out


@pytest.mark.parametrize("written", ["name: serve\nkind: Deployment\n", "{", "- serve", "name: 3\nkind: Deployment"])
def test_deployment_is_found_by_the_workload_of_its_pods_group(server: ApiServer, plugin: Plugin, written: str) -> None:
    group = pod_group("pg-serve", "nlp", 1)
    group["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "serve-1", "uid": "uid-serve-1"}
    ]
    group["metadata"]["annotations"] = {"kai.scheduler/top-owner-metadata": written}
    server.add(group)
    server.add(pod("serve-1", "nlp", 1, **{"pod-group-name": "pg-serve"}))
    told = plugin("why", "deployment/serve")
    if written.startswith("name: serve"):
        assert told.code == 0
        assert "pg-serve" in told.out
    else:
        assert told.code == 2
        assert "no pod, workload or pod group deployment/serve" in told.err


def test_pod_without_group_shows_message_of_its_scheduler(server: ApiServer, plugin: Plugin) -> None:
    other = pod("web", "nlp", 0)
    other["spec"]["schedulerName"] = "default-scheduler"
    other["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}]
    server.add(other)
    told = plugin("why", "web")
    assert told.code == 1
    assert told.out == ("pod team/web has no pod group (schedulerName: default-scheduler): 0/1 nodes are available\n")


def _unscheduled(pod_: dict[str, Any], message: str, status: str = "False") -> dict[str, Any]:
    pod_["status"]["conditions"] = [{"type": "PodScheduled", "status": status, "message": message}]
    return pod_


def _gang_of_four(server: ApiServer) -> None:
    group = pod_group("pg-gang", "vision", 2)
    pods = {name: pod(name, "vision", 0, **{"pod-group-name": "pg-gang"}) for name in ("w0", "w1", "w2", "w3")}
    rejected = "the API server rejected the binding of pod team/w1"
    _unscheduled(pods["w1"], rejected)
    _unscheduled(pods["w0"], rejected)
    _unscheduled(pods["w2"], "its volume claim `data` is not bound")
    pods["w3"]["spec"]["nodeName"] = "n1"
    _unscheduled(pods["w3"], "a message from before it was bound")
    server.add(group, *pods.values())
    elsewhere = _unscheduled(pod("x0", "vision", 0, **{"pod-group-name": "pg-gang"}), "in another namespace")
    elsewhere["metadata"]["namespace"] = "other"
    server.add(elsewhere)


def test_messages_of_the_scheduler_precede_the_simulated_cycle(server: ApiServer, plugin: Plugin) -> None:
    _gang_of_four(server)
    told = plugin("why", "pg-gang")
    assert told.code == 0
    assert told.out.splitlines()[:5] == [
        "Reported by the scheduler (PodScheduled)",
        "  w0, w1: the API server rejected the binding of pod team/w1",
        "  w2: its volume claim `data` is not bound",
        "",
        "Simulated next cycle",
    ]
    assert "no pending pods" in told.out
    assert "before it was bound" not in told.out
    assert "another namespace" not in told.out


def test_json_has_messages_of_the_scheduler(server: ApiServer, plugin: Plugin) -> None:
    _gang_of_four(server)
    assert json.loads(plugin("why", "pg-gang", "-o", "json").out)["reported"] == [
        {"message": "the API server rejected the binding of pod team/w1", "pods": ["w0", "w1"]},
        {"message": "its volume claim `data` is not bound", "pods": ["w2"]},
    ]
    assert json.loads(plugin("why", "pg-late", "-o", "json").out)["reported"] == []


def test_result_is_labelled_as_simulated_without_messages_of_the_scheduler(server: ApiServer, plugin: Plugin) -> None:
    made, group = grouped("calm", "vision", 1)
    server.add(_unscheduled(made, "scheduled", status="True"), group)
    told = plugin("why", "calm")
    assert told.out.startswith("Simulated next cycle\n")
    assert "Reported by the scheduler" not in told.out


def test_pod_of_a_group_that_does_not_exist_shows_message_of_its_scheduler(server: ApiServer, plugin: Plugin) -> None:
    server.add(_unscheduled(pod("badpg", "nlp", 1, **{"pod-group-name": "ghost"}), "no such pod group"))
    told = plugin("why", "badpg")
    assert (told.code, told.err) == (1, "")
    assert told.out == (
        "pod team/badpg names the pod group ghost, which does not exist (schedulerName: kai-scheduler): "
        "no such pod group\n"
    )


def test_unknown_name_suggests_nearest(plugin: Plugin) -> None:
    told = plugin("why", "lat", "-n", "team")
    assert told.code == 2
    assert "no pod, workload or pod group lat in namespace team; did you mean late?" in told.err


def test_queue_explanation_has_fair_share(plugin: Plugin) -> None:
    told = plugin("queue", "nlp")
    assert told.code == 0
    assert "queue nlp, a child of queue all" in told.out
    assert plugin("queue", "npl").code == 2


def test_snapshot_can_be_read_again(plugin: Plugin, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    told = plugin("snapshot", "--out", file)
    assert (told.code, told.out) == (0, "")
    items = json.loads(file.read_text(encoding="utf-8"))["items"]
    assert {item["kind"] for item in items} == {"Node", "Pod", "PodGroup", "PriorityClass", "Queue"}
    assert told.err == f"{len(items)} objects written to {file}\n"
    assert json.loads(plugin("snapshot").out)["items"] == items


def test_anonymised_snapshot_has_no_workload_names(plugin: Plugin) -> None:
    told = plugin("snapshot", "--anonymise")
    assert told.code == 0
    assert not [name for name in ("bert", "gpt", "late", "n1", "team") if f'"{name}' in told.out]
    assert {item["metadata"]["name"] for item in json.loads(told.out)["items"]} > {"all", "nlp", "vision", "train"}


def test_fit_gives_the_answer_of_apportion_fit_for_a_snapshot(
    server: ApiServer, plugin: Plugin, run: Callable[..., Any], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.py"
    policy.write_text(policy_text("kai"), encoding="utf-8")
    cluster = compiled(made_policy(policy_text("kai")))
    kinds = {resource.kind for resource in SNAPSHOT}
    held = [one for one in snapshot(cluster, [bound(cluster, job("asr", "speech", 2, 8))]) if one["kind"] in kinds]
    server.held.clear()
    server.add(*held)
    asked = tmp_path / "job.yaml"
    asked.write_text(yaml.safe_dump(job("train", "vision", 1, 8)), encoding="utf-8")
    told = plugin("fit", "-f", asked, "--policy", policy, "-o", "json")
    (tmp_path / "cluster.json").write_text(plugin("snapshot").out, encoding="utf-8")
    expected = run("fit", policy, "-f", asked, "--snapshot", tmp_path / "cluster.json", "-o", "json")
    assert (told.code, told.err) == (expected.code, "") == (0, "")
    live, offline = json.loads(told.out), json.loads(expected.out)
    assert live.pop("snapshot")["name"] == "(live)"
    offline.pop("snapshot")
    assert live == offline
    assert "starts now" in plugin("fit", "-f", asked, "--policy", policy).out


def test_fit_refuses_a_manifest_that_is_no_workload(plugin: Plugin, tmp_path: Path) -> None:
    wrong = tmp_path / "job.yaml"
    wrong.write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n", encoding="utf-8")
    told = plugin("fit", "-f", wrong)
    assert told.code == 2
    assert "job.yaml:3: the Job has no pod template" in told.err
    assert "Usage: kubectl apportion fit" in told.err


def test_rejected_list_is_one_line_error_with_hint(server: ApiServer, plugin: Plugin) -> None:
    def answer(sent: Sent) -> Rejection | None:
        return Rejection(403, "queues is forbidden: User cannot list") if sent.path.endswith("/queues") else None

    server.answer = answer
    told = plugin("top")
    assert told.code == 3
    assert "kubectl apportion: error: the cluster cannot be read: queues is forbidden" in told.err
    assert "hint:" in told.err


def test_missing_definitions_are_named_with_the_command_that_installs_them(server: ApiServer, plugin: Plugin) -> None:
    def answer(sent: Sent) -> Rejection | None:
        is_missing = sent.path.partition("?")[0].endswith("/podgroups")
        return Rejection(404, "404 page not found") if is_missing else None

    server.answer = answer
    for call in (("top",), ("why", "late"), ("snapshot",)):
        told = plugin(*call)
        assert told.code == 3
        assert "the API server does not serve podgroups.scheduling.run.ai (v2alpha2)" in told.err
        assert "helm show crds oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler" in told.err
        assert "404" not in told.err


def test_memory_has_the_unit_of_the_queue_explanation(server: ApiServer, plugin: Plugin) -> None:
    server.add(queue_with("a", resources={"memory": {"quota": 4000, "limit": -1}}))
    told = plugin("top", "--resource", "memory")
    assert told.out.startswith("274.88 GB in the cluster\n")
    assert "a                            0          4" in told.out
    document = json.loads(plugin("top", "--resource", "memory", "-o", "json").out)
    assert (document["unit"], document["queues"][0]["guaranteed"]) == ("GB", 4)


def test_workload_without_pods_has_no_empty_section(server: ApiServer, plugin: Plugin) -> None:
    server.add(grouped("empty", "nlp", 1)[1])
    told = plugin("why", "job/empty-job")
    assert told.out.splitlines() == [
        "Simulated next cycle",
        "job team/pg-empty in queue nlp: 0 pending",
        "  the pod group has no pods",
    ]


def _of_pool(server: ApiServer, *pools: str) -> None:
    made, group = grouped("far", "far", 1)
    far = queue("far", None, 1)
    for one in (made, group, far):
        one["metadata"].setdefault("labels", {})["kai.scheduler/node-pool"] = "a100"
    server.add(made, group, far)
    for pool in pools:
        spec = {"partitionLabelValue": pool} if pool else {}
        metadata = {"name": f"shard-{pool or 'default'}"}
        server.add({"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": metadata, "spec": spec})


def test_pod_group_of_another_shard_is_explained_in_its_shard(server: ApiServer, plugin: Plugin) -> None:
    _of_pool(server, "", "a100")
    told = plugin("why", "far")
    assert told.code == 0
    assert "job team/pg-far in queue far: 1 pending" in told.out
    assert plugin("why", "far", "--shard", "shard-a100").out == told.out


@pytest.mark.parametrize(
    ("pools", "options", "said"),
    [
        ((), (), "kai.scheduler/node-pool=a100, but no SchedulingShard schedules this node pool"),
        (("", "a100"), ("--shard", "shard-default"), "it belongs to SchedulingShard shard-a100, not shard-default"),
    ],
)
def test_pod_group_that_the_shard_does_not_schedule(
    server: ApiServer, plugin: Plugin, pools: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    _of_pool(server, *pools)
    told = plugin("why", "far", *options)
    assert told.code == 2
    assert "pod group team/pg-far has the label kai.scheduler/node-pool=a100" in told.err
    assert said in told.err


def test_fit_without_a_policy_names_the_option(plugin: Plugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = tmp_path / "job.yaml"
    asked.write_text(yaml.safe_dump(job("train", "vision", 1, 8)), encoding="utf-8")
    told = plugin("fit", "-f", asked)
    assert told.code == 3
    assert "error: the current directory has no policy" in told.err
    assert "hint: pass the policy of the cluster: --policy FILE --env NAME" in told.err


def test_messages_of_the_scheduler_are_in_a_snapshot(
    server: ApiServer, plugin: Plugin, run: Callable[..., Any], tmp_path: Path
) -> None:
    _gang_of_four(server)
    (tmp_path / "cluster.json").write_text(plugin("snapshot").out, encoding="utf-8")
    told = run("explain", "job", "team/pg-gang", "--snapshot", tmp_path / "cluster.json")
    live = plugin("why", "pg-gang")
    assert told.out.splitlines()[:5] == live.out.splitlines()[:5]
    assert told.out.startswith("Reported by the scheduler (PodScheduled)\n  w0, w1: the API server rejected")
    other = run("explain", "job", "team/pg-late", "--snapshot", tmp_path / "cluster.json")
    assert other.out.startswith("job team/pg-late in queue nlp: 1 pending\n")


def test_warnings_are_limited_to_twenty_with_the_number_of_the_others(server: ApiServer, plugin: Plugin) -> None:
    server.add(*(queue_with(f"bad-{number:02}", "all", preemptMinRuntime="-1m") for number in range(23)))
    told = plugin("top")
    assert told.code == 0
    assert told.err.count("is negative") == 20
    assert (
        "3 more; `kubectl apportion snapshot --out FILE` and `apportion simulate --cycle FILE` show all"
        in told.err.splitlines()
    )
    assert told.err.rstrip().endswith("23 warnings")


def test_unreachable_cluster_is_an_environment_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--kubeconfig", str(tmp_path / "none")]) == 3
    assert f"kubeconfig {tmp_path / 'none'} does not exist" in capfd.readouterr().err


def test_help_lists_the_commands(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capfd.readouterr().out
    assert all(f"  {name} " in shown for name in ("top", "why", "queue", "fit", "snapshot"))
