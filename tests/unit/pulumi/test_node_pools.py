"""Node pools: registered only on request, with values that no policy contains, and protected."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pulumi = pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")

from .stack_runs import Run, run_stack  # noqa: E402

pytestmark = pytest.mark.pulumi
GOLDEN = Path(__file__).parents[2] / "golden"
COORDINATES = {"cluster": "main", "location": "europe-west4", "project": "acme"}


@pytest.fixture
def gcp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for pulumi_gcp: the resource takes any arguments."""

    class NodePool(pulumi.CustomResource):
        def __init__(self, resource_name: str, /, opts: Any, **arguments: Any) -> None:
            super().__init__("gcp:container/nodePool:NodePool", resource_name, arguments, opts)

    container = ModuleType("pulumi_gcp.container")
    container.NodePool = NodePool
    package = ModuleType("pulumi_gcp")
    monkeypatch.setitem(sys.modules, "pulumi_gcp", package)
    monkeypatch.setitem(sys.modules, "pulumi_gcp.container", container)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for pulumi_aws."""
    package = ModuleType("pulumi_aws")
    monkeypatch.setitem(sys.modules, "pulumi_aws", package)
    for module, name in (("ec2", "LaunchTemplate"), ("eks", "NodeGroup"), ("autoscaling", "Group")):
        of_type = f"aws:{module}/{name[0].lower()}{name[1:]}:{name}"

        class Resource(pulumi.CustomResource):
            type_ = of_type

            def __init__(self, resource_name: str, /, opts: Any, **arguments: Any) -> None:
                super().__init__(self.type_, resource_name, arguments, opts)

        found = ModuleType(f"pulumi_aws.{module}")
        setattr(found, name, Resource)
        monkeypatch.setitem(sys.modules, f"pulumi_aws.{module}", found)


def run(tmp_path: Path, case: str, **config: Any) -> Run:
    shutil.copy(GOLDEN / case / "policy.py", tmp_path / "policy.py")
    return run_stack(tmp_path, {"policy": "policy.py", "targets": "node-pools", **config})


def _environment(case: str) -> tuple[str, str]:
    from apportion_compiler.emit.pulumi.stack_targets import read_policy

    environment = read_policy(str(GOLDEN / case / "policy.py")).environments[0]
    return environment.name, environment.clusters[0].name


def test_node_pools_are_opt_in(tmp_path: Path) -> None:
    for case in ("node-pools-gke", "node-pools-karpenter"):
        name, _ = _environment(case)
        assert run(tmp_path, case, environment=name).objects == {}


def test_node_pools_are_created_and_protected(tmp_path: Path, gcp: None) -> None:
    name, cluster = _environment("node-pools-gke")
    made = run(tmp_path, "node-pools-gke", environment=name, nodePools={cluster: COORDINATES})
    pools = {one.name: one for one in made.registered if one.type == "gcp:container/nodePool:NodePool"}
    assert f"{cluster}/h100-dws" in pools
    queued = pools[f"{cluster}/h100-dws"]
    assert queued.protect
    assert {key: queued.inputs[key] for key in COORDINATES} == COORDINATES
    assert queued.inputs["queued_provisioning"] == {"enabled": True}
    assert "initialNodeCount" in queued.ignores
    assert not any(one.type == "gcp:container/cluster:Cluster" for one in made.registered)


def test_cluster_settings_required_by_pools_are_reported(
    tmp_path: Path, gcp: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conservation: a maintenance window is the cluster's on GKE, and no stack makes the cluster."""
    warned: list[str] = []
    monkeypatch.setattr(pulumi, "warn", warned.append)
    name, cluster = _environment("node-pools-gke")
    made = run(tmp_path, "node-pools-gke", environment=name, nodePools={cluster: COORDINATES})
    file = "node-pools/gke/_cluster.yaml"
    assert [(one["what"], one["file"]) for one in made.outputs["notApplied"]] == [
        ("the cluster's maintenance windows and exclusions", file),
        ("the cluster's node auto-provisioning", file),
    ]
    assert warned[0] == (
        f"{cluster}: this stack does not apply the cluster's maintenance windows and exclusions ({file}): set "
        "`maintenance_policy` in the cluster's declaration, or run node-pools/gke/apply.sh"
    )


def test_unmanaged_pools_are_reported(tmp_path: Path) -> None:
    name, _ = _environment("node-pools-karpenter")
    (left,) = run(tmp_path, "node-pools-karpenter", environment=name).outputs["notApplied"]
    assert left["what"].startswith("node pools ")


def test_engine_configuration_is_reported(tmp_path: Path) -> None:
    name, _ = _environment("kai-tree")
    left = run(tmp_path, "kai-tree", environment=name, targets="kai").outputs["notApplied"]
    assert {"kai/values.yaml", "kai/kuberay-values.yaml"} == {one["file"] for one in left}


def test_autoscaled_size_is_ignored_in_updates(tmp_path: Path, aws: None) -> None:
    name, cluster = _environment("node-pools-eks")
    supplied = ("cluster_name", "node_role_arn", "subnet_ids", "image_id", "iam_instance_profile")
    more = ("vpc_security_group_ids", "user_data")
    coordinates = dict.fromkeys((*supplied, *more), "x")
    made = run(tmp_path, "node-pools-eks", environment=name, nodePools={cluster: coordinates})
    ignored = {one.name: one.ignores for one in made.registered if one.type == "aws:eks/nodeGroup:NodeGroup"}
    assert ignored[f"{cluster}/servers"] == ("scalingConfig.desiredSize",)


def test_missing_coordinate_is_reported(tmp_path: Path, gcp: None) -> None:
    name, cluster = _environment("node-pools-gke")
    with pytest.raises(pulumi.RunError, match="must set cluster, location, project for"):
        run(tmp_path, "node-pools-gke", environment=name, nodePools={cluster: {}})


def test_missing_cloud_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pulumi_gcp", None)
    name, cluster = _environment("node-pools-gke")
    with pytest.raises(pulumi.RunError, match=r"pip install 'apportion\[gcp\]'"):
        run(tmp_path, "node-pools-gke", environment=name, nodePools={cluster: COORDINATES})


def test_karpenter_pools_are_kubernetes_objects(tmp_path: Path) -> None:
    name, cluster = _environment("node-pools-karpenter")
    made = run(tmp_path, "node-pools-karpenter", environment=name, nodePools={cluster: {}})
    assert {one.type.rpartition(":")[2] for one in made.objects.values()} == {"EC2NodeClass", "NodePool"}
