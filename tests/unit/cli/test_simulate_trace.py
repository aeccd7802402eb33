"""`simulate --trace`: traces on the command line, and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from apportion_cli.trace_formats import FORMATS

from .conftest import Run

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,T4\nn-1,64000,262144,2,T4\nn-2,32000,131072,0,\n"
HEADING = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
PODS = (
    f"{HEADING}\n"
    "p-0,1000,1024,2,1000,,LS,Running,0,5000,0\n"
    "p-1,1000,1024,1,500,T4,BE,Succeeded,100,4100,100\n"
    "p-2,1000,1024,2,1000,,BE,Pending,200,260,\n"
    "p-3,1000,1024,0,0,,Burstable,Failed,300,900,310\n"
)
SACCT = (
    "JobID|Account|QOS|State|Submit|Start|End|Elapsed|AllocTRES|ReqTRES\n"
    "7|vision|high|COMPLETED|2026-11-02T08:00:00|2026-11-02T08:00:10|2026-11-02T08:10:10|00:10:00|"
    "cpu=2,mem=4G,gres/gpu=1,node=1|cpu=2,mem=4G,gres/gpu=1,node=1\n"
    "7.0|vision||COMPLETED|2026-11-02T08:00:00|2026-11-02T08:00:10|2026-11-02T08:10:10|00:10:00|cpu=2,node=1|\n"
)


def _queue(name: str, parent: str = "") -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec = {"resources": dict.fromkeys(("cpu", "memory", "gpu"), free), **({"parentQueue": parent} if parent else {})}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def queues(tmp_path: Path) -> Path:
    """Objects of KAI Scheduler, rendered before."""
    names = ("serving", "development", "training", "vision")
    made = {"apiVersion": "v1", "kind": "List", "items": [_queue("org"), *(_queue(name, "org") for name in names)]}
    path = tmp_path / "queues.json"
    path.write_text(json.dumps(made))
    return path


@pytest.fixture
def openb(tmp_path: Path) -> str:
    """The lists of a small cluster, as the trace names them."""
    (tmp_path / "openb_node_list_all_node.csv").write_text(NODES)
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS)
    return f"openb:{tmp_path}"


def _outcomes(run: Run, *arguments: object) -> dict[str, int]:
    result = run("simulate", *arguments, "-o", "json")
    assert result.code == 0, result.err
    outcomes: dict[str, int] = json.loads(result.out)["outcomes"]
    return outcomes


def test_every_openb_pod_has_an_outcome(run: Run, queues: Path, openb: str) -> None:
    """A pod that never ran leaves at its deletion time; those that ran end as they did."""
    assert _outcomes(run, queues, "--trace", openb) == {"succeeded": 2, "deleted": 1, "failed": 1}


def test_trace_summary_is_printed(run: Run, queues: Path, openb: str) -> None:
    said = run("simulate", queues, "--trace", openb).err
    assert "7 rows: 3 nodes, 4 jobs, 0 skipped; queues development, serving, training" in said
    assert re.search(r"3 nodes, the offered load averages [0-9.]+% of the GPUs and peaks at [0-9.]+%", said)


def test_inflated_jobs_fill_the_cluster(run: Run, queues: Path, openb: str) -> None:
    """The third asks for the devices that are left but half a one, finds no place, and leaves."""
    outcomes = _outcomes(run, queues, "--trace", openb, "--trace-inflate", "1", "--trace-until", "1h")
    assert outcomes == {"unfinished": 2, "deleted": 1}


def test_trace_and_scenario_are_combined(run: Run, queues: Path, tmp_path: Path) -> None:
    """Slurm's accounting says nothing of nodes."""
    (tmp_path / "jobs.txt").write_text(SACCT)
    scenario = tmp_path / "nodes.yaml"
    scenario.write_text("nodes: [{pool: gpu, count: 1, gpus: 1}]\n")
    trace = ("--trace", f"sacct:{tmp_path / 'jobs.txt'}", "--trace-priority", "high=inference")
    assert _outcomes(run, queues, "--scenario", scenario, *trace) == {"succeeded": 1}


def test_queues_and_classes_can_be_mapped(run: Run, queues: Path, openb: str) -> None:
    result = run("simulate", queues, "--trace", openb, "--trace-queue", "LS=vision", "-o", "json")
    hours = {queue["name"]: queue["gpu_hours"] for queue in json.loads(result.out)["queues"]}
    assert hours["vision"] == pytest.approx(2 * 5000 / 3600, rel=0.02)
    assert hours["serving"] == 0.0


def test_skipped_rows_are_shown_with_their_reasons(run: Run, queues: Path, tmp_path: Path) -> None:
    heading, job, step = SACCT.splitlines()
    steps = "\n".join(step.replace("7.0", f"7.{number}") for number in range(5))
    (tmp_path / "jobs.txt").write_text(f"{heading}\n{job}\n{steps}\n")
    said = run("simulate", queues, "--trace", f"sacct:{tmp_path / 'jobs.txt'}").err
    assert f"skipped: {tmp_path / 'jobs.txt'}:3: 7.0 is a job step; the job has its own row\n" in said
    assert said.count("is a job step") == 3
    assert "skipped: 2 more valid rows\n" in said


@pytest.mark.parametrize("option", ["--trace-nodes", "--trace-load", "--trace-inflate"])
def test_option_about_nodes_is_refused_for_a_trace_without_nodes(
    run: Run, queues: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "jobs.txt").write_text(SACCT)
    refused = run("simulate", queues, "--trace", f"sacct:{tmp_path / 'jobs.txt'}", option, "0.5")
    assert refused.code == 3
    assert f"{option} applies to the nodes in a trace, but there are none in {tmp_path / 'jobs.txt'}" in refused.err
    assert f"hint: omit {option}, and set the number of nodes in the scenario" in refused.err


def test_mapped_name_that_the_trace_lacks_is_a_warning(run: Run, queues: Path, openb: str) -> None:
    mapped = ("--trace-queue", "LS=vision", "--trace-queue", "Vision=vision", "--trace-priority", "BE=build")
    said = run("simulate", queues, "--trace", openb, *mapped).err
    assert "warning: --trace-queue Vision=… has no effect: no job in the trace uses this name" in said
    assert said.count("has no effect") == 1


def test_invalid_row_is_one_sentence(run: Run, queues: Path, openb: str) -> None:
    pods = Path(openb.partition(":")[2]) / "openb_pod_list_default.csv"
    pods.write_text(PODS.replace("p-3,1000", "p-3,many"))
    refused = run("simulate", queues, "--trace", openb)
    assert refused.code == 3
    fault = f"{pods}:5: cpu_milli `many` is not a non-negative integer; correct cpu_milli in this row"
    assert fault in refused.err
    assert "pass --trace-skip-faults to skip" in refused.err
    assert "Traceback" not in refused.err
    skipped = run("simulate", queues, "--trace", openb, "--trace-skip-faults")
    assert skipped.code == 0
    assert f"warning: {fault}; skipped" in skipped.err


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (
            "sn,cpu\n",
            ":1: missing column cpu_milli, memory_mib, gpu, model; use the unmodified files of cluster-trace-gpu-v2",
        ),
        ("\x00", ":1: "),
        (None, "openb_node_list_all_node.csv cannot be read: No such file or directory"),
    ],
)
def test_invalid_node_list_is_refused(run: Run, queues: Path, openb: str, nodes: str | None, said: str) -> None:
    path = Path(openb.partition(":")[2]) / "openb_node_list_all_node.csv"
    path.unlink()
    if nodes is not None:
        path.write_text(nodes)
    refused = run("simulate", queues, "--trace", openb)
    assert refused.code == 3
    assert said in refused.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--trace", "openb"],
            "`openb` is not openb:DIRECTORY, openb:NODES.csv,PODS.csv, sacct:FILE, dlrm:FILE, pai:FILE, philly:FILE, helios:FILE or watch:FILE",
        ),
        (["--trace", "openb:nodes.csv"], "openb requires 2 files, as in openb:NODES.csv,PODS.csv"),
        (["--trace-load", "0.8"], "require --trace FORMAT:FILE"),
        (["--trace", "sacct:x", "--trace-load", "1", "--trace-inflate", "1"], "pass only one of them"),
        (["--trace", "sacct:x", "--trace-until", "soon"], "`soon` is not a duration such as 90s, 1h30m or 2d"),
        (["--trace", "sacct:x", "--trace-queue", "a"], "`a` is not of the form NAME=VALUE"),
        (
            ["--trace", "sacct:x", "--trace-queue", "a=b", "--trace-queue", "a=c"],
            "--trace-queue maps a more than once; ",
        ),
        (["--trace", "dlrm:x", "--trace-gpu-model", "a=b"], "dlrm has no GPU types to map; omit --trace-gpu-model"),
    ],
)
def test_usage_errors(run: Run, queues: Path, arguments: list[str], said: str) -> None:
    refused = run("simulate", queues, *arguments)
    assert refused.code == 2
    assert said in refused.err


def test_unreachable_load_is_refused(run: Run, queues: Path, openb: str) -> None:
    refused = run("simulate", queues, "--trace", openb, "--trace-load", "50")
    assert refused.code == 3
    assert "rescaling arrivals can reach a load of" in refused.err


_DLRM = (
    "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,"
    "memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time\n"
    + "".join(f"i-{i},HN,app_1,1,1,1,1,25,25,1.0,1.0,10.0,20.0,2,{i}.0,{i}.0,{600 + i}.0\n" for i in range(4))
)
_ROOMY = "nodes: [{pool: gpu, count: 1, gpus: 8, disk: 1Ti, extended: {apportion.dev/rdma-percent: 400}}]\n"
_SERVING = """
from apportion_policy import (
    INFERENCE, Accelerator, Cluster, Engine, Environment, Fixed, NodePool, Organisation, Policy, Queue, Resources
)

POOL = NodePool(
    id="gpu", provider=Fixed(), cpu=64, memory="512Gi", accelerator=Accelerator(model="a", count=8, memory="80Gi"),
    min_nodes=1, max_nodes=1,
)
ALL = Resources(cpu=64, memory="512Gi", gpu=8, extended=EXTENDED)
ORG = Queue(id="org", owner="@acme/org", guaranteed=ALL)
SERVING = Queue(
    id="serving", parent=ORG, namespaces=("serving",), guaranteed=ALL, priority_classes=(INFERENCE,)
)
CLUSTER = Cluster(name="main", engine=Engine.ENGINE, engine_version="VERSION", pools=(POOL,))
policy = Policy(
    organisation=Organisation(name="org", owner="@acme/org"), queues=(ORG, SERVING), priority_classes=(INFERENCE,),
    node_pools=(POOL,), environments=(Environment(name="prod", clusters=(CLUSTER,)),),
)
"""
_RDMA = "{'apportion.dev/rdma-percent': 400}"


@pytest.mark.parametrize(
    ("engine", "version", "extended"),
    [
        ("KAI", "0.17.0", "None"),
        ("KUEUE", "0.18.3", _RDMA),
        ("VOLCANO", "1.13.0", _RDMA),
        ("YUNIKORN", "1.8", _RDMA),
        ("KOORDINATOR", "1.8", _RDMA),
        ("NATIVE", "1.34", _RDMA),
    ],
)
def test_density_limit_holds_on_every_engine(
    run: Run, tmp_path: Path, engine: str, version: str, extended: str
) -> None:
    """At most two of the four instances run on the node at once, although it has room for all."""
    (tmp_path / "dlrm.csv").write_text(_DLRM)
    (tmp_path / "nodes.yaml").write_text(_ROOMY)
    policy = tmp_path / "policy.py"
    policy.write_text(
        _SERVING.replace("EXTENDED", extended).replace("Engine.ENGINE", f"Engine.{engine}").replace("VERSION", version)
    )
    trace = ("--trace", f"dlrm:{tmp_path / 'dlrm.csv'}", "--trace-queue", "HN=serving")
    result = run("simulate", policy, "--scenario", tmp_path / "nodes.yaml", *trace, "-o", "jsonl")
    assert result.code == 0, result.err
    facts = [json.loads(line) for line in result.out.splitlines()]
    started = [fact["at_s"] for fact in facts if fact["what"] == "started"]
    ended = [fact["at_s"] for fact in facts if fact["what"] == "succeeded"]
    assert started[:2] == [0.0, 1.0]
    assert started[2] >= min(ended)
    assert (len(started), len(ended)) == (4, 4)


def test_limits_of_one_app_are_reported(run: Run, queues: Path, tmp_path: Path) -> None:
    (tmp_path / "dlrm.csv").write_text(_DLRM.replace(",2,3.0,", ",-1,3.0,"))
    result = run("simulate", queues, "--trace", f"dlrm:{tmp_path / 'dlrm.csv'}", "--trace-queue", "HN=serving")
    assert "warning: 1 app has several values of max_instance_per_node for one role" in result.err


@pytest.mark.parametrize(
    ("extended", "said"),
    [
        ("{rdma: 400}", "nodes.yaml:1: nodes[0].extended.rdma: must be an extended resource name such as rdma/hca"),
        ("{rdma/hca: many}", "nodes[0].extended.rdma/hca: `many` is not a non-negative number"),
    ],
)
def test_invalid_extended_resource_of_nodes_is_refused(
    run: Run, queues: Path, tmp_path: Path, extended: str, said: str
) -> None:
    (tmp_path / "nodes.yaml").write_text(f"nodes: [{{pool: gpu, extended: {extended}}}]\n")
    result = run("simulate", queues, "--scenario", tmp_path / "nodes.yaml")
    assert result.code == 3
    assert said in result.err


_PAI = (
    "job_id,user,gpu_type,num_inst,num_gpu,num_cpu,submit_time,duration\n1,ann,T4,2,0.5,1,0,60\n2,bob,V100,1,1,1,5,60\n"
)


def test_gpu_types_can_be_mapped(run: Run, queues: Path, tmp_path: Path) -> None:
    """Both jobs run on the only node unless their types select another model."""
    (tmp_path / "jobs.csv").write_text(_PAI)
    (tmp_path / "nodes.yaml").write_text(
        "nodes: [{pool: gpu, count: 1, gpus: 4, labels: {nvidia.com/gpu.product: Tesla-T4}}]\n"
    )
    arguments = (queues, "--trace", f"pai:{tmp_path / 'jobs.csv'}", "--scenario", tmp_path / "nodes.yaml")
    assert _outcomes(run, *arguments) == {"succeeded": 2}
    mapped = ("--trace-gpu-model", "T4=Tesla-T4", "--trace-gpu-model", "V100=Tesla-V100")
    assert _outcomes(run, *arguments, *mapped, "--trace-until", "1h") == {"succeeded": 1, "unfinished": 1}
    said = run("simulate", *arguments, mapped[0], mapped[1]).err
    assert (
        "warning: jobs with GPU type V100 accept any GPU; to restrict them, map each type to one of the nodes' GPU models"
        in said
    )


_PHILLY = (
    '[{"status": "Pass", "vc": "vision", "jobid": "a_1", "submitted_time": "2018-01-01 00:00:00", "attempts": '
    '[{"start_time": "2018-01-01 00:01:00", "end_time": "2018-01-01 00:02:00", "detail": [{"gpus": ["gpu0"]}]}]}]'
)
_HELIOS = (
    "job_id,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration\n"
    "1,vision,1,4,1,COMPLETED,2018-01-01 00:00:00,2018-01-01 00:01:00,2018-01-01 00:02:00,60\n"
)


@pytest.mark.parametrize(("form", "text"), [("philly", _PHILLY), ("helios", _HELIOS)])
def test_jobs_of_virtual_clusters_run(run: Run, queues: Path, tmp_path: Path, form: str, text: str) -> None:
    (tmp_path / "jobs").write_text(text)
    (tmp_path / "nodes.yaml").write_text("nodes: [{pool: gpu, count: 1, gpus: 1}]\n")
    trace = ("--trace", f"{form}:{tmp_path / 'jobs'}", "--scenario", tmp_path / "nodes.yaml")
    assert _outcomes(run, queues, *trace) == {"succeeded": 1}


@pytest.mark.parametrize("form", [form for form in FORMATS if len(FORMATS[form].files) == 1])
@pytest.mark.parametrize("text", ["", "\x00", "{", "[[[", "a,b\n1,2\n", "\n\n\n", '"', '{"type": "ADDED"}', "[1, 2]"])
def test_other_file_is_refused_in_one_sentence(run: Run, queues: Path, tmp_path: Path, form: str, text: str) -> None:
    path = tmp_path / "jobs"
    path.write_text(text)
    refused = run("simulate", queues, "--trace", f"{form}:{path}")
    assert refused.code == 3
    assert re.search(rf"{re.escape(str(path))}:\d+: [^\n]+; [^\n]+", refused.err)
    assert "Traceback" not in refused.err


def test_node_of_a_watch_runs_pods_once_it_joins(run: Run, queues: Path, tmp_path: Path) -> None:
    """The pod arrives a minute before the only node, and another before the node leaves."""
    requests = {"cpu": "1", "memory": "1Gi"}
    pods = [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"p-{minute}",
                "namespace": "vision",
                "creationTimestamp": f"2018-01-01T00:{minute:02}:00Z",
            },
            "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
            "status": {
                "phase": "Succeeded",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "True",
                        "lastTransitionTime": f"2018-01-01T00:{minute + 1:02}:00Z",
                    }
                ],
                "containerStatuses": [{"state": {"terminated": {"finishedAt": f"2018-01-01T00:{minute + 3:02}:00Z"}}}],
            },
        }
        for minute in (0, 9)
    ]
    node = {
        "kind": "Node",
        "metadata": {"name": "n", "creationTimestamp": "2018-01-01T00:01:00Z"},
        "status": {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "10"},
            "conditions": [{"lastHeartbeatTime": "2018-01-01T00:10:00Z"}],
        },
    }
    events = [{"type": "ADDED", "object": made} for made in (*pods, node)] + [{"type": "DELETED", "object": node}]
    (tmp_path / "watch.json").write_text("\n".join(json.dumps(event) for event in events))
    result = run("simulate", queues, "--trace", f"watch:{tmp_path / 'watch.json'}", "-o", "jsonl")
    assert result.code == 0, result.err
    facts = [json.loads(line) for line in result.out.splitlines()]
    told = [(fact["at_s"], fact["what"], fact.get("workload") or fact.get("node")) for fact in facts]
    assert [each for each in told if each[1] in ("node-joined", "started", "succeeded", "node-left")] == [
        (60.0, "node-joined", "n"),
        (60.0, "started", "vision-p-0"),
        (182.0, "succeeded", "vision-p-0"),
        (540.0, "started", "vision-p-9"),
        (600.0, "node-left", "n"),
    ]
