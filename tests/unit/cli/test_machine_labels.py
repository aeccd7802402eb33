"""A scenario's nodes carry the labels of the flavors of their pool, so that work may select by the provider's labels."""

from __future__ import annotations

import json
from pathlib import Path

from apportion_cli.outcomes import run as simulated

_POLICY = """
from apportion_policy import *

H100 = NodePool(id="h100", provider=Gke(), machine_type="a3-highgpu-8g", max_nodes=1,
                accelerator=Accelerator(model="h100", count=8), cpu=200, memory="1800Gi")
L4 = NodePool(id="l4", provider=Gke(), machine_type="g2-standard-24", max_nodes=1,
              accelerator=Accelerator(model="l4", count=2), cpu=22, memory="80Gi")
TEAM = Queue(id="team", namespaces=("team",), guaranteed=Resources(gpu={"h100": 8, "l4": 2}))
GPU_CLUSTER = Cluster(name="main", engine="kueue", engine_version="0.18", pools=(H100, L4))
policy = Policy(organisation=Organisation(name="acme"), queues=(TEAM,), node_pools=(H100, L4),
                environments=(Environment(name="prod", clusters=(GPU_CLUSTER,)),))
"""
_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "infer", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
    "spec": {
        "suspend": True,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"},
                "containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
            }
        },
    },
}


def test_workload_selecting_the_gke_label_runs(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(_POLICY)
    scenario = {
        "nodes": [
            {"pool": "h100", "count": 1, "gpus": 8},
            # Another name, and our label: the machines of the flavor all the same.
            {"pool": "cheap", "count": 1, "gpus": 2, "labels": {"apportion.dev/node-pool": "l4", "apportion.dev/gpu-model": "l4"}},
        ],
        "workloads": [{"manifest": _JOB, "duration": "5m"}],
    }  # fmt: skip
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario))
    outcome = simulated(str(tmp_path / "policy.py"), str(tmp_path / "scenario.yaml"), allow_missing_layers=True)
    outcome.assert_succeeds("team", within="10m")
