"""EKS: a managed node group, or an Auto Scaling group that the cluster autoscaler scales.

Fields: pulumi-aws 7.51.1, eks/node_group.py, autoscaling/group.py, ec2/launch_template.py. A launch template names a
reservation or capacity block, and determines the instance type of its node group. The tags of an Auto Scaling group
tell the autoscaler the labels and taints of a node while the group is empty:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.backends.nodepools.document import Document
from apportion_compiler.backends.nodepools.names import CLOUD_EFFECTS
from apportion_compiler.backends.pool_labels import set_labels
from apportion_compiler.ir.program import NodePool, Program
from apportion_compiler.kubernetes_names import object_name
from apportion_policy.providers import Eks

FOLDER = "eks"
_TEMPLATES = "eks/launch-templates"
NODE_GROUP_TYPE = "aws:eks/nodeGroup:NodeGroup"
SCALING_GROUP_TYPE = "aws:autoscaling/group:Group"
LAUNCH_TEMPLATE_TYPE = "aws:ec2/launchTemplate:LaunchTemplate"

GPU_AMI_TYPE = "AL2023_x86_64_NVIDIA"
"""Images with the NVIDIA driver; with any other, a GPU node does not report GPUs."""

_CLUSTER_AUTOSCALER = "k8s.io/cluster-autoscaler"

EksPool = tuple[NodePool, Eks]


def documents(program: Program, pools: Sequence[EksPool]) -> Iterator[Document]:
    """Yield the documents of each pool, a launch template before the group that references it."""
    for pool, settings in pools:
        if needs_template(pool, settings):
            yield _launch_template(program, pool, settings)
        yield _node_group(program, pool, settings) if settings.managed else _scaling_group(program, pool)


def group_name(pool: NodePool) -> str:
    """Return the group's name."""
    return object_name(pool.id)


def template_name(pool: NodePool) -> str:
    """Return the name of the pool's launch template."""
    return f"{group_name(pool)}-template"


def needs_template(pool: NodePool, settings: Eks) -> bool:
    """Return whether a pool requires its own launch template."""
    return settings.capacity_block or pool.reservation is not None or not settings.managed


def capacity_type(pool: NodePool, settings: Eks) -> str:
    """Return how a managed group buys machines."""
    return "CAPACITY_BLOCK" if settings.capacity_block else "SPOT" if pool.spot else "ON_DEMAND"


def ami_type(pool: NodePool, settings: Eks) -> str | None:
    """Return the image type: the author's, or for GPUs one that includes the driver."""
    return settings.ami_type or (GPU_AMI_TYPE if pool.n_gpus else None)


def cloud_taints(pool: NodePool) -> list[dict[str, str]]:
    """Return the taints in EKS spelling."""
    return [
        {"key": taint.key, "value": taint.value or "", "effect": CLOUD_EFFECTS[taint.effect]} for taint in pool.taints
    ]


def autoscaler_tags(program: Program, pool: NodePool) -> Mapping[str, str]:
    """Return the tags by which the cluster autoscaler discovers a group and predicts labels and taints of its nodes."""
    tags = {
        f"{_CLUSTER_AUTOSCALER}/enabled": "true",
        f"{_CLUSTER_AUTOSCALER}/{program.cluster}": "owned",
        f"kubernetes.io/cluster/{program.cluster}": "owned",
    }
    template = f"{_CLUSTER_AUTOSCALER}/node-template"
    for key, value in set_labels(program, pool).items():
        tags[f"{template}/label/{key}"] = value
    for taint in pool.taints:
        tags[f"{template}/taint/{taint.key}"] = f"{taint.value or ''}:{taint.effect}"
    if pool.n_gpus:
        tags[f"{template}/resources/nvidia.com/gpu"] = str(pool.n_gpus)
    return tags


def kubelet_flags(program: Program, pool: NodePool) -> list[str]:
    """Return the kubelet flags with which nodes of an Auto Scaling group register their labels and taints."""
    labels = ",".join(f"{key}={value}" for key, value in sorted(set_labels(program, pool).items()))
    taints = ",".join(f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in pool.taints)
    return [f"--node-labels={labels}", *([f"--register-with-taints={taints}"] if taints else [])]


def _node_group(program: Program, pool: NodePool, settings: Eks) -> Document:
    supply = ["cluster_name"]
    args: dict[str, object] = {"node_group_name": group_name(pool)}
    if settings.node_role is not None:
        args["node_role_arn"] = settings.node_role
    else:
        supply.append("node_role_arn")
    if settings.subnets:
        args["subnet_ids"] = list(settings.subnets)
    else:
        supply.append("subnet_ids")
    args["scaling_config"] = {
        "min_size": pool.min_nodes,
        "max_size": pool.max_nodes,
        "desired_size": pool.min_nodes,
    }
    image = ami_type(pool, settings)
    if image is not None:
        args["ami_type"] = image
    args["capacity_type"] = capacity_type(pool, settings)
    if needs_template(pool, settings):
        args["launch_template"] = {"name": template_name(pool), "version": "$Latest"}
    elif pool.machine_type is not None:
        args["instance_types"] = [pool.machine_type]
    args["labels"] = dict(set_labels(program, pool))
    if pool.taints:
        args["taints"] = cloud_taints(pool)
    args["node_repair_config"] = {"enabled": settings.node_repair}
    return Document(
        FOLDER,
        group_name(pool),
        NODE_GROUP_TYPE,
        args,
        ignore_changes=("scaling_config.desired_size",),
        supply=tuple(supply),
    )


def _scaling_group(program: Program, pool: NodePool) -> Document:
    settings = pool.settings
    subnets = settings.subnets if isinstance(settings, Eks) else ()
    args: dict[str, object] = {
        "name": group_name(pool),
        "min_size": pool.min_nodes,
        "max_size": pool.max_nodes,
        "launch_template": {"name": template_name(pool), "version": "$Latest"},
        "tags": [
            {"key": key, "value": value, "propagate_at_launch": True}
            for key, value in autoscaler_tags(program, pool).items()
        ],
    }
    supply: tuple[str, ...] = ()
    if subnets:
        args["vpc_zone_identifiers"] = list(subnets)
    else:
        supply = ("vpc_zone_identifiers",)
    return Document(
        FOLDER,
        group_name(pool),
        SCALING_GROUP_TYPE,
        args,
        ignore_changes=("desired_capacity",),
        supply=supply,
        notes=(f"The autoscaler's auto-discovery must select the tag {_CLUSTER_AUTOSCALER}/{program.cluster}.",),
    )


def launch_template(pool: NodePool, settings: Eks) -> Mapping[str, object]:
    """Return the arguments of a pool's launch template."""
    args: dict[str, object] = {"name": template_name(pool)}
    if pool.machine_type is not None:
        args["instance_type"] = pool.machine_type
    if settings.capacity_block:
        args["instance_market_options"] = {"market_type": "capacity-block"}
    elif pool.spot and not settings.managed:
        args["instance_market_options"] = {"market_type": "spot"}
    if pool.reservation is not None:
        args["capacity_reservation_specification"] = {
            "capacity_reservation_target": {"capacity_reservation_id": pool.reservation}
        }
    return args


def _launch_template(program: Program, pool: NodePool, settings: Eks) -> Document:
    if settings.managed:
        return Document(_TEMPLATES, template_name(pool), LAUNCH_TEMPLATE_TYPE, launch_template(pool, settings))
    flags = "; ".join(kubelet_flags(program, pool))
    return Document(
        _TEMPLATES,
        template_name(pool),
        LAUNCH_TEMPLATE_TYPE,
        launch_template(pool, settings),
        supply=("image_id", "iam_instance_profile", "vpc_security_group_ids", "user_data"),
        notes=(f"user_data must join the node to the cluster with the kubelet flags: {flags}",),
    )
