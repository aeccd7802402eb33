"""Environments with admission policies that warn or audit, and shares of guarantees by model."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.compile import Compilation, Target, compile_policy
from apportion_compiler.engines.kueue.reader import read
from apportion_compiler.engines.native.emit.namespaces import namespaces
from apportion_policy import (
    Accelerator,
    Cluster,
    Environment,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
)

VERSIONS = {"kai": "0.17.0", "kueue": "0.18.3", "yunikorn": "1.7.0", "native": "1.34"}
POOLS = tuple(
    NodePool(id=m, max_nodes=4, min_nodes=4, cpu=96, memory="1Ti", accelerator=Accelerator(model=m, count=8))
    for m in ("h100", "a100")
)


def _compiled(engine: str, queue: Queue, *, share: str = "1", **environment: str) -> Compilation:
    cluster = Cluster(name="c", engine=engine, engine_version=VERSIONS[engine], pools=POOLS, share=share)
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(queue,),
        node_pools=POOLS,
        environments=(Environment(name="e", clusters=(cluster,), **environment),),
    )
    return compile_policy(policy, (Target("e", "c", engine),), date(2026, 11, 21))


@pytest.mark.parametrize("engine", sorted(VERSIONS))
@pytest.mark.parametrize(
    ("admission", "actions"), [("deny", ["Deny"]), ("warn", ["Warn", "Audit"]), ("audit", ["Audit"])]
)
def test_bindings_follow_the_environment_setting(engine: str, admission: str, actions: list[str]) -> None:
    limit = Resources(cpu=8, memory="8Gi", gpu=8)
    compilation = _compiled(engine, Queue(id="vision", namespaces=("vision",), limit=limit), admission=admission)
    (output,) = compilation.outputs.values()
    said = {
        str(manifest["metadata"]["name"]): manifest["spec"]["validationActions"]
        for manifest in output.manifests
        if manifest["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    assert said.pop("namespaces.apportion.dev", ["Deny"]) == ["Deny"]
    assert said
    assert all(found == actions for found in said.values())


@pytest.mark.parametrize("engine", ["kai", "kueue"])
def test_share_of_odd_gpu_counts_compiles(engine: str) -> None:
    queue = Queue(
        id="research",
        guaranteed=Resources(gpu=10),
        children=(Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 5, "a100": 5})),),
    )
    compilation = _compiled(engine, queue, share="1/2")
    assert [d for d in compilation.diagnostics if d.code == "AP513"] == []
    assert compilation.outputs


def test_default_kueue_queue_is_a_local_queue_named_default() -> None:
    queue = Queue(id="vision", namespaces=("vision",), default=True, limit=Resources(gpu=8))
    compilation = _compiled("kueue", queue)
    (output,), (program,) = compilation.outputs.values(), compilation.programs.values()
    locals_ = [m for m in output.manifests if m["kind"] == "LocalQueue"]
    assert [(m["metadata"]["name"], m["metadata"]["namespace"], m["spec"]) for m in locals_] == [
        ("vision", "vision", {"clusterQueue": "vision"}),
        ("default", "vision", {"clusterQueue": "vision"}),
    ]
    (namespace,) = namespaces(program)
    assert namespace["metadata"]["annotations"]["apportion.dev/queues"] == "vision,default"
    assert [record.default for record in read(output.manifests).queues] == [True]
