"""Small clusters for `fit`: a policy compiled for an engine, and a snapshot of its workloads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from apportion_api.volcano.names import GROUP_ANNOTATION
from apportion_cli.fit_inputs import ClusterCompiler, cluster_compiler, model_of
from apportion_compiler.bindings.bind import adopt
from apportion_compiler.bindings.options import Options
from apportion_compiler.compile import check_policy
from apportion_compiler.engines.registry import ENGINES
from apportion_policy import (
    Accelerator,
    Cluster,
    Environment,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
)
from apportion_review.fit.clusters import CompiledCluster, ObservedCluster
from apportion_review.fit.fit import Question, fit_of
from apportion_review.fit.probe import run
from apportion_review.fit.records import Fit
from apportion_runtime.engines.volcano.engine import Volcano
from apportion_runtime.sim.cluster import Cluster as SimulatedCluster
from apportion_runtime.sim.observed.cluster import observed_cluster
from apportion_runtime.sim.scenario.format import Pool, Scenario, Work
from apportion_runtime.snapshots.quantities import time_text

Made = dict[str, Any]
AS_OF = date(2026, 11, 24)
START = 1_796_000_000.0
VERSIONS: dict[str, str | None] = {
    "kai": "0.17.0",
    "kueue": "0.18.3",
    "volcano": "1.13.0",
    "ack": "6.9.4",
    "native": "1.34",
    "koordinator": "1.8.0",
    "yunikorn": "1.8.0",
}
SIMULATED = ENGINES


def policy_for(engine: str, *, nodes: int = 4, guaranteed: int = 16, limit: int = 24) -> Policy:
    """Two teams with 16 GPUs each and a limit of 24, on nodes of 8 GPUs."""
    versions = VERSIONS[engine]
    pool = NodePool(
        id="h100", accelerator=Accelerator(model="h100", count=8), cpu=96, memory="1Ti", min_nodes=0, max_nodes=nodes
    )
    own: Made = {} if versions is None else {"engine_version": versions}
    cluster = Cluster(name="gpu", engine=engine, pools=(pool,), kubernetes_version="1.34.0", **own)
    teams = tuple(
        Queue(
            id=name,
            namespaces=(name,),
            owner=f"@acme/{name}",
            guaranteed=Resources(gpu=guaranteed),
            limit=Resources(gpu=limit),
        )
        for name in ("speech", "vision")
    )
    return Policy(
        organisation=Organisation(name="acme"),
        node_pools=(pool,),
        queues=(Queue(id="research", owner="@acme/research", children=teams),),
        priority_classes=(
            PriorityClass(name="high", value=90, preemptible=True),
            PriorityClass(name="low", value=50, preemptible=True),
        ),
        environments=(Environment(name="prod", clusters=(cluster,)),),
    )


def compiler_of(policy: Policy) -> tuple[ClusterCompiler, Any]:
    checked = check_policy(policy, AS_OF)
    assert checked.graph is not None, checked.diagnostics
    scope = next(scope for scope in checked.graph.scopes if scope.name is not None)
    return cluster_compiler(policy, scope, as_of=AS_OF), checked.graph


def compiled(policy: Policy) -> CompiledCluster:
    found = compiler_of(policy)[0].compile(policy)
    assert found is not None, [str(each) for each in check_policy(policy, AS_OF).diagnostics]
    return found


def job(name: str, queue: str, pods: int, gpus: int, **more: Any) -> Made:
    """A Job that starts as a gang where its engine has such."""
    resources = {"requests": {"nvidia.com/gpu": str(gpus), "cpu": "4"}, "limits": {"nvidia.com/gpu": str(gpus)}}
    spec = {
        "restartPolicy": "Never",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [{"name": "main", "image": "example.com/train", "resources": resources}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": queue, **more.pop("metadata", {})},
        "spec": {"parallelism": pods, "completions": pods, "template": {"spec": spec}, **more},
    }


def bound(cluster: CompiledCluster, made: Mapping[str, Any], priority: str | None = None) -> Made:
    """A workload in the queue of its namespace."""
    return dict(
        adopt(cluster.program, made["metadata"]["namespace"], [made], Options(priority_class=priority)).objects[-1]
    )


def snapshot(cluster: CompiledCluster, works: Sequence[Made], *, nodes: int = 4, seconds: float = 60.0) -> list[Made]:
    """The objects of a cluster on which workloads were submitted in this order, one second after another."""
    shape = cluster.shapes["h100"]
    scenario = Scenario(
        pools=(Pool("h100", shape, nodes, nodes, nodes),),
        works=tuple(Work(made, arrives_s=float(number)) for number, made in enumerate(works)),
        start=START,
    )
    begun = observed_cluster(
        [dict(made) for made in cluster.objects],
        [],
        scenario,
        model_of(cluster.program.engine),
        admit=lambda made: None,
    )
    run(begun, seconds)
    objects = begun.cluster_state.store._objects  # what `kubectl get` would print of every kind
    found = [json.loads(json.dumps(made)) for of_kind in objects.values() for made in of_kind.values()]
    return [*found, *_volcano_groups(begun, found)]


def _volcano_groups(cluster: SimulatedCluster, found: Sequence[Made]) -> Iterator[Made]:
    """Yield the pod groups that Volcano's controllers write, which the simulation keeps beside the objects."""
    if not isinstance(cluster.engine, Volcano):
        return
    pods = {made["metadata"]["uid"]: made for made in found if made["kind"] == "Pod"}
    for key, made in cluster.engine._jobs.items():
        namespace, name = key.split("/")
        for uid in made.tasks:
            pods[uid]["metadata"].setdefault("annotations", {})[GROUP_ANNOTATION] = name
        group = made.group
        yield {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": time_text(group.created)},
            "spec": {"minMember": group.least, "queue": group.queue},
            "status": {"phase": group.phase.value},
        }


def fit(
    policy: Policy,
    workload: Made,
    held: Sequence[Made] | None = None,
    *,
    seconds: float = 60.0,
    written: Made | None = None,
) -> Fit:
    """The answer for a workload that is in its queue already, and that its author wrote without a minimum or as given."""
    compiler, graph = compiler_of(policy)
    cluster = compiled(policy)
    observed = ObservedCluster(cluster, model_of(cluster.program.engine), held, (), START + seconds)
    queue = str(workload["metadata"]["namespace"])
    scope = compiler.scope
    name = "cluster.json" if held else ""
    question = Question(workload, queue, True, policy, graph, scope, compiler.compile, name, written or {})
    return fit_of(question, observed)
