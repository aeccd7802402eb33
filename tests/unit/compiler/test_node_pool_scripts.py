"""Node pools: execution of the scripts by a shell."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.backends.nodepools import emit
from apportion_compiler.backends.pool_labels import declared_labels
from apportion_compiler.ir.program import Program
from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Ack,
    Eks,
    Gke,
    NodePool,
    Taint,
)

from .pool_programs import DWS_POOL, L4, program_of

HOSTILE = "gpu $(touch broken) `id` \"x\" 'y' ; & | \\ *"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[list[str]]]:
    """Run a script with tools that only note their arguments, and say whether what is asked for exists."""
    noted = tmp_path / "noted"

    def run(program: Program, name: str, *, exists: bool, **variables: str) -> list[list[str]]:
        for tool in ("gcloud", "aws", "aliyun"):
            path = tmp_path / tool
            answer = "exit 0" if exists else 'case "$*" in *describe*) exit 1;; esac'
            noting = '{ for word in "$@"; do printf "%s\\0" "$word"; done; printf "\\n\\0"; } >>"$NOTED"'
            path.write_text(f"#!/bin/sh\n{noting}\n{answer}\n", encoding="utf-8")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        script = tmp_path / "apply.sh"
        texts = {artifact.name: artifact.content for artifact in emit(program).artifacts}
        script.write_text(texts[name], encoding="utf-8")
        noted.unlink(missing_ok=True)
        finished = subprocess.run(
            ["sh", str(script)],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "NOTED": str(noted), **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        assert {path.name for path in tmp_path.iterdir()} <= {"gcloud", "aws", "aliyun", "apply.sh", "noted"}
        calls = noted.read_text(encoding="utf-8").split("\n\0")[:-1]
        return [call.split("\0")[:-1] for call in calls]

    return run


WHERE = ["--cluster=main", "--location=europe-west4", "--project=acme"]


GCLOUD = {"LOCATION": "europe-west4", "PROJECT": "acme"}


def test_queued_gke_pool_has_the_required_flags(run: Any) -> None:
    described, created = run(program_of(DWS_POOL), "gke/apply.sh", exists=False, **GCLOUD)
    assert described == ["container", "node-pools", "describe", "dws", *WHERE]
    assert created == [
        *("beta", "container", "node-pools", "create", "dws", *WHERE),
        "--enable-queued-provisioning",
        "--accelerator=type=nvidia-h100-80gb,count=8,gpu-driver-version=default",
        "--machine-type=a3-highgpu-8g",
        "--num-nodes=0",
        "--enable-autoscaling",
        "--total-min-nodes=0",
        "--total-max-nodes=16",
        "--location-policy=ANY",
        "--no-enable-autorepair",
        "--no-enable-autoupgrade",
        "--reservation-affinity=none",
        "--node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=dws",
        "--node-taints=nvidia.com/gpu=present:NoSchedule",
    ]


def test_existing_pool_is_updated_one_group_at_a_time(run: Any) -> None:
    calls = run(program_of(DWS_POOL), "gke/apply.sh", exists=True, **GCLOUD)
    update = ["container", "node-pools", "update", "dws", *WHERE]
    assert [call[len(update) :] for call in calls if call[: len(update)] == update] == [
        ["--no-enable-autorepair", "--no-enable-autoupgrade"],
        ["--enable-autoscaling", "--total-min-nodes=0", "--total-max-nodes=16", "--location-policy=ANY"],
        ["--node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=dws"],
    ]
    # The fake gcloud says nothing, so queued provisioning is taken to be off.
    assert calls[-1] == ["beta", *update, "--enable-queued-provisioning"]
    assert not any("create" in call for call in calls)


def test_taint_update_keeps_the_taint_of_gke(run: Any) -> None:
    tainted = NodePool(
        id="l4",
        provider=Gke(),
        machine_type="g2-standard-4",
        accelerator=L4,
        max_nodes=2,
        taints=(Taint(key="team", value="a"),),
    )
    ordinary = NodePool(id="ordinary", provider=Gke(), machine_type="e2-standard-8", max_nodes=2)
    calls = run(program_of(tainted, ordinary), "gke/apply.sh", exists=True, **GCLOUD)
    taints = [word for call in calls for word in call if word.startswith("--node-taints")]
    assert taints == ["--node-taints=team=a:NoSchedule,nvidia.com/gpu=present:NoSchedule"]
    alone = run(program_of(tainted), "gke/apply.sh", exists=True, **GCLOUD)
    assert [w for call in alone for w in call if w.startswith("--node-taints")] == ["--node-taints=team=a:NoSchedule"]


def test_values_are_quoted(run: Any) -> None:
    pool = NodePool(
        id="l4",
        provider=Gke(reservation_affinity="specific"),
        machine_type=HOSTILE,
        accelerator=Accelerator(model="l4", count=1, provider_name=HOSTILE),
        max_nodes=2,
        zones=(HOSTILE,),
        reservation=HOSTILE,
    )
    _, created = run(program_of(pool, cluster=HOSTILE), "gke/apply.sh", exists=False, **GCLOUD)
    assert f"--cluster={HOSTILE}" in created
    assert {f"--machine-type={HOSTILE}", f"--node-locations={HOSTILE}", f"--reservation={HOSTILE}"} <= set(created)
    assert f"--accelerator=type={HOSTILE},count=1,gpu-driver-version=default" in created


def test_missing_variable_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "apply.sh"
    script.write_text(next(a.content for a in emit(program_of(DWS_POOL)).artifacts if a.name.endswith(".sh")))
    finished = subprocess.run(["sh", str(script)], env={}, capture_output=True, text=True, check=False)
    assert finished.returncode != 0
    assert "LOCATION: set it to the region or zone of the cluster" in finished.stderr


def test_eks_node_groups_are_created_and_updated(run: Any) -> None:
    pool = NodePool(
        id="g6",
        provider=Eks(subnets=("subnet-1",), node_role="arn:role"),
        machine_type="g6.xlarge",
        accelerator=L4,
        max_nodes=3,
        taints=(GPU_TAINT,),
    )
    program = program_of(pool)
    _, created = run(program, "eks/apply.sh", exists=False)
    assert created[:5] == [
        "eks",
        "create-nodegroup",
        "--cluster-name=main",
        "--nodegroup-name=g6",
        "--node-role=arn:role",
    ]
    assert json.loads(_value(created, "labels")) == declared_labels(program, program.pools[0])
    assert json.loads(_value(created, "taints")) == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    ]
    assert _value(created, "ami-type") == "AL2023_x86_64_NVIDIA"
    _, updated = run(program, "eks/apply.sh", exists=True)
    assert updated[:2] == ["eks", "update-nodegroup-config"]
    assert json.loads(_value(updated, "scaling-config")) == {"minSize": 0, "maxSize": 3}


@pytest.mark.skipif(shutil.which("jq") is None, reason="`jq` is not on PATH: the script of ACK requires it")
def test_ack_node_pools_are_created(run: Any) -> None:
    pool = NodePool(
        id="l20", provider=Ack(), machine_type=HOSTILE, accelerator=L4, max_nodes=3, taints=(GPU_TAINT,), spot=True
    )
    program = program_of(pool)
    _, created = run(program, "ack/apply.sh", exists=True, CLUSTER_ID="c1", VSWITCH_IDS='["vsw-1"]')
    assert created[:4] == ["cs", "POST", "/clusters/c1/nodepools", "--body"]
    body = json.loads(created[4])
    assert body["scaling_group"] == {
        "spot_strategy": "SpotAsPriceGo",
        "instance_types": [HOSTILE],
        "vswitch_ids": ["vsw-1"],
    }
    labels = {label["key"]: label["value"] for label in body["kubernetes_config"]["labels"]}
    assert labels == declared_labels(program, program.pools[0])


def _value(words: list[str], name: str) -> str:
    return next(word.partition("=")[2] for word in words if word.startswith(f"--{name}="))
