"""`apportion fit`: results as text and JSON, exit codes, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from tests.unit.review.fit_clusters import VERSIONS, bound, compiled, job, snapshot

from apportion_policy import Policy
from apportion_review.schemas import schema_text

Run = Callable[..., Any]
EXPECTED = Path(__file__).parent / "expected"
AS_OF = ("--as-of", "2026-11-24", "--now", "2026-11-30T00:54:20Z")

POLICY = """\
from apportion_policy import Accelerator, Cluster, Environment, Fixed, NodePool, Organisation, Policy, Queue, Resources
from apportion_policy import GPU_TAINT

H100 = NodePool(
    id="h100",
    provider=Fixed(),
    cpu=96,
    memory="1Ti",
    accelerator=Accelerator(model="h100", count=8),
    min_nodes=4,
    max_nodes=4,
    taints=(GPU_TAINT,),
)
SPEECH = Queue(id="speech", owner="@acme/s", namespaces=("speech",), guaranteed=Resources(gpu=8), limit=Resources(gpu=16))
VISION = Queue(
    id="vision",
    owner="@acme/v",
    namespaces=("vision",),
    guaranteed=Resources(gpu=8),
    limit=Resources(gpu=24),
)
POLICY = Policy(
    organisation=Organisation(name="acme"),
    node_pools=(H100,),
    queues=QUEUES,
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu", engine="ENGINE", engine_version="VERSION", pools=(H100,)),),
        ),
    ),
)
"""


def policy_text(engine: str) -> str:
    tree = '(Queue(id="research", owner="@acme/r", children=(SPEECH, VISION)),)'
    return POLICY.replace("QUEUES", tree).replace("ENGINE", engine).replace("VERSION", VERSIONS[engine] or "")


def made_policy(text: str) -> Policy:
    namespace: dict[str, Any] = {}
    exec(compile(text, "policy.py", "exec"), namespace)
    found = namespace["POLICY"]
    assert isinstance(found, Policy)
    return found


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., None]:
    def call(engine: str, works: Sequence[dict[str, Any]], asked: Any) -> None:
        text = policy_text(engine)
        (tmp_path / "policy.py").write_text(text)
        cluster = compiled(made_policy(text))
        held = snapshot(cluster, [bound(cluster, made) for made in works])
        (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": held}))
        (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(asked if isinstance(asked, list) else [asked]))

    return call


def fit(run: Run, *more: str) -> Any:
    return run("fit", "policy.py", "-f", "job.yaml", "--snapshot", "cluster.json", *AS_OF, *more)


RUNNING = (job("asr", "speech", 2, 8), job("detector", "vision", 1, 8))
CASES = {
    "now": (RUNNING, job("train", "vision", 1, 8), 0),
    "quota": (RUNNING, job("train", "speech", 1, 8), 1),
    "capacity": (RUNNING, job("train", "vision", 2, 8), 1),
    "full": (
        (job("asr", "speech", 1, 8), *(job(f"w{n}", "vision", 1, 8) for n in range(3))),
        job("train", "speech", 1, 8),
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["kai", "kueue", "volcano"])
def test_text_matches_the_golden_file(
    engine: str, case: str, run: Run, write: Callable[..., None], update_golden: bool
) -> None:
    works, asked, code = CASES[case]
    write(engine, works, asked)
    result = fit(run)
    golden = EXPECTED / f"fit-{engine}-{case}.txt"
    if update_golden:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(f"{result.out}exit {result.code}\n")
    assert f"{result.out}exit {result.code}\n" == golden.read_text()
    assert all(len(line) <= 80 for line in result.out.splitlines())
    assert code in (None, result.code)


@pytest.mark.parametrize("case", CASES)
def test_json_matches_the_schema(case: str, run: Run, write: Callable[..., None]) -> None:
    works, asked, _ = CASES[case]
    write("kai", works, asked)
    document = json.loads(fit(run, "--json").out)
    jsonschema.validate(document, json.loads(schema_text("fit")))
    assert document["kind"] == "FitReport"
    assert document["startsNow"] == (document["decision"]["outcome"] == "starts now")


def test_evictions_have_their_own_exit_code(run: Run, write: Callable[..., None]) -> None:
    works = [job(f"w{n}", "vision", 1, 8) for n in range(3)] + [job("late", "speech", 1, 8)]
    write("kai", works, job("train", "speech", 2, 4))
    (node, *_) = [each for each in json.loads(Path("cluster.json").read_text())["items"] if each["kind"] == "Node"]
    cordoned = json.loads(Path("cluster.json").read_text())
    for each in cordoned["items"]:
        if each["kind"] == "Pod" and each["metadata"]["namespace"] == "speech":
            each["metadata"]["namespace"] = "vision"
        if each["kind"] == "PodGroup" and each["metadata"]["namespace"] == "speech":
            each["metadata"]["namespace"], each["spec"]["queue"] = "vision", "vision"
    Path("cluster.json").write_text(json.dumps(cordoned))
    result = fit(run)
    assert result.code == 11
    assert result.out.startswith("Job speech/train: starts after evicting 1 workload\n")
    assert node["kind"] == "Node"


def test_minimum_in_the_file_is_kept_although_a_queue_is_assigned(run: Run, write: Callable[..., None]) -> None:
    gang = job("train", "vision", 4, 4, metadata={"annotations": {"kai.scheduler/batch-min-member": "3"}})
    write("kai", RUNNING, gang)
    document = json.loads(fit(run, "--json").out)
    assert document["largest"]["value"] == 0
    assert document["largest"]["leastBecause"] == "kai.scheduler/batch-min-member 3"
    assert "GPUs" in document["largest"]["reason"]
    assert document["free"][0] == "pool h100: 8 of 32 GPUs, at most 8 on one node"
    assert "size" not in {change["kind"] for change in document["changes"]}


def test_idle_cluster_is_assumed_without_a_snapshot(run: Run, write: Callable[..., None]) -> None:
    write("kueue", [], job("train", "vision", 1, 8))
    result = run("fit", "policy.py", "-f", "job.yaml", "--as-of", "2026-11-24")
    assert result.code == 0
    assert "pool h100: 1 pod on 1 node" in result.out
    assert "assumed to be idle" in result.out


def test_queue_option_takes_precedence(run: Run, write: Callable[..., None]) -> None:
    asked = job("train", "speech", 3, 8)
    del asked["metadata"]["namespace"]
    write("kai", [], asked)
    assert fit(run, "--queue", "vision").code == 0
    refused = fit(run, "--queue", "speech")
    assert refused.code == 1
    assert "Limit is 16 GPUs" in refused.out.replace("\n    ", " ")


def _with(asked: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {**asked, "metadata": {**asked["metadata"], "labels": labels}}


@pytest.mark.parametrize(
    ("asked", "options", "code", "message"),
    [
        (job("train", "vision", 1, 8), ("--queue", "vison"), 2, "queue vison does not exist; did you mean vision?"),
        (job("train", "vision", 1, 8), ("--queue", "research"), 2, "queue research has child queues"),
        (
            _with(job("train", "vision", 1, 8), **{"kai.scheduler/queue": "nlp"}),
            (),
            2,
            "references queue nlp, which does not exist in the policy; choose one of research, speech or vision",
        ),
        (
            _with(job("train", "vision", 1, 8), **{"kai.scheduler/queue": "research"}),
            (),
            2,
            "research has child queues",
        ),
        (job("train", "nlp", 1, 8), (), 2, "namespace nlp does not belong to a queue: pass --queue"),
        (job("train", "vision", 1, 8), ("--env", "dev"), 2, "environment dev does not exist"),
        (job("train", "vision", 1, 8), ("--env", "prod", "--cluster", "cpu"), 2, "has no cluster cpu"),
        (job("train", "vision", 1, 8), ("--snapshot", "absent.json"), 3, "absent.json is not a readable file"),
        (
            job("train", "vision", 1, 8),
            ("--name", "other"),
            2,
            "job.yaml does not contain workload other; it contains Job train",
        ),
        (
            [job("a", "vision", 1, 8), job("b", "vision", 1, 8)],
            (),
            2,
            "contains 2 workloads; choose one with --name: Job a, Job b",
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, (), 2, "job.yaml contains no workload"),
        (
            {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {}},
            (),
            2,
            "a CronJob has no pods of its own",
        ),
    ],
)
def test_unsupported_request_is_refused(
    asked: Any, options: tuple[str, ...], code: int, message: str, run: Run, write: Callable[..., None]
) -> None:
    write("kai", [], asked)
    result = fit(run, *options)
    assert (result.code, result.out) == (code, "")
    assert message in " ".join(result.err.split())


def test_unreadable_manifest_is_an_environment_error(run: Run, write: Callable[..., None]) -> None:
    write("kai", [], job("train", "vision", 1, 8))
    Path("job.yaml").write_text("kind: [")
    assert (fit(run).code, run("fit", "policy.py", "-f", "none.yaml").code) == (3, 3)


def test_snapshot_without_nodes_is_refused(run: Run, write: Callable[..., None]) -> None:
    write("kai", [], job("train", "vision", 1, 8))
    Path("cluster.json").write_text('{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod", "metadata": {}}]}')
    result = fit(run)
    assert result.code == 3
    assert "contains no nodes" in result.err


def test_policy_errors_are_reported(run: Run, write: Callable[..., None]) -> None:
    write("kai", [], job("train", "vision", 1, 8))
    broken = policy_text("kai").replace(
        "guaranteed=Resources(gpu=8),\n    limit", "guaranteed=Resources(gpu=80),\n    limit"
    )
    Path("policy.py").write_text(broken)
    result = fit(run)
    assert result.code == 1
    assert "policy.py:" in result.text


@pytest.mark.parametrize("engine", ["koordinator", "yunikorn"])
def test_start_on_an_idle_cluster_is_predicted(engine: str, run: Run, write: Callable[..., None]) -> None:
    Path("policy.py").write_text(policy_text(engine))
    Path("job.yaml").write_text(yaml.safe_dump(job("train", "vision", 1, 8)))
    result = run("fit", "policy.py", "-f", "job.yaml", "--as-of", "2026-11-24")
    assert (result.code, result.out.splitlines()[0]) == (0, "Job vision/train: starts now")


@pytest.mark.parametrize("engine", VERSIONS)
def test_unreadable_requests_of_a_snapshot_are_rejected(engine: str, run: Run, write: Callable[..., None]) -> None:
    write("kai", RUNNING, job("train", "vision", 1, 8))
    Path("policy.py").write_text(policy_text(engine))
    held = json.loads(Path("cluster.json").read_text())
    first = next(each for each in held["items"] if each["kind"] == "Pod")
    first["spec"]["containers"] = None
    Path("cluster.json").write_text(json.dumps(held))
    result = fit(run)
    name = f"{first['metadata']['namespace']}/{first['metadata']['name']}"
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(
        f"apportion: error: cluster.json: Pod {name}: `spec.containers`: expected a list, found no value\n"
    )
