"""ACK: `alicloud:cs/nodePool:NodePool`, and the equivalent `aliyun cs` commands with OpenAPI bodies.

Fields: pulumi-alicloud 4.0.0, cs/_inputs.py; OpenAPI CS 2015-12-15, CreateClusterNodePool and ModifyClusterNodePool.
GPUs come with the instance type. Labels are a list, and taint effects are spelled as in Kubernetes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.backends.nodepools.document import Document
from apportion_compiler.backends.nodepools.shell import script
from apportion_compiler.backends.pool_labels import set_labels
from apportion_compiler.ir.program import NodePool, Program
from apportion_compiler.kubernetes_names import object_name
from apportion_policy.providers import Ack

FOLDER = "ack"
POOL_TYPE = "alicloud:cs/nodePool:NodePool"

AckPool = tuple[NodePool, Ack]


def documents(program: Program, pools: Sequence[AckPool]) -> Iterator[Document]:
    """Yield the document of each pool."""
    for pool, settings in pools:
        yield _pool(program, pool, settings)


def ack_script(program: Program, pools: Sequence[AckPool]) -> Artifact:
    """Return the script that creates and updates the pools of a cluster."""
    notes = (
        "Create or update the node pools of a cluster to match the policy. Usage: sh apply.sh (requires aliyun and jq)",
        "A pool's type and Lingjun group cannot be changed after creation and are not updated.",
        GENERATED,
    )
    needed = {"CLUSTER_ID": "the id of the cluster"}
    if any(not settings.vswitches for _, settings in pools):
        needed["VSWITCH_IDS"] = "the vSwitch ids for the nodes, as a JSON list"
    if any(settings.pool_type == "lingjun" for _, settings in pools):
        needed["EFLO_NODE_GROUP"] = "the Lingjun group, as a JSON object with cluster_id and group_id"
    values = [_script_values(program, pool, settings) for pool, settings in pools]
    return Artifact(f"{FOLDER}/apply.sh", script("ack.sh.j2", notes=notes, needed=needed, pools=values))


def spot_strategy(pool: NodePool, settings: Ack) -> str:
    """Return how machines are bought; a spot pool without a price limit pays the market price."""
    return "SpotAsPriceGo" if pool.spot and settings.spot_strategy == "NoSpot" else settings.spot_strategy


def _pool(program: Program, pool: NodePool, settings: Ack) -> Document:
    supply = ["cluster_id"]
    args: dict[str, object] = {"node_pool_name": object_name(pool.id), "type": settings.pool_type}
    if pool.machine_type is not None:
        args["instance_types"] = [pool.machine_type]
    if settings.vswitches:
        args["vswitch_ids"] = list(settings.vswitches)
    else:
        supply.append("vswitch_ids")
    if settings.pool_type == "lingjun":
        supply.append("eflo_node_group")
    args["scaling_config"] = {
        "enable": True,
        "min_size": pool.min_nodes,
        "max_size": pool.max_nodes,
        "type": _scaling_type(pool, settings),
    }
    args["management"] = _management(settings)
    args["labels"] = _labels(program, pool)
    if pool.taints:
        args["taints"] = _taints(pool)
    strategy = spot_strategy(pool, settings)
    args["spot_strategy"] = strategy
    if strategy == "SpotWithPriceLimit":
        supply.append("spot_price_limits")
    if settings.deployment_set is not None:
        args["deployment_set_id"] = settings.deployment_set
    if pool.reservation is not None:
        args["private_pool_options"] = {
            "private_pool_options_match_criteria": "Target",
            "private_pool_options_id": pool.reservation,
        }
    return Document(FOLDER, object_name(pool.id), POOL_TYPE, args, supply=tuple(supply))


def _scaling_type(pool: NodePool, settings: Ack) -> str:
    if spot_strategy(pool, settings) != "NoSpot":
        return "spot"
    return "gpu" if pool.n_gpus else "cpu"


def _management(settings: Ack) -> dict[str, bool]:
    managed = settings.auto_repair or settings.auto_upgrade
    return {"enable": managed, "auto_repair": settings.auto_repair, "auto_upgrade": settings.auto_upgrade}


def _labels(program: Program, pool: NodePool) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in set_labels(program, pool).items()]


def _taints(pool: NodePool) -> list[dict[str, str]]:
    return [{"key": taint.key, "value": taint.value or "", "effect": taint.effect} for taint in pool.taints]


def _script_values(program: Program, pool: NodePool, settings: Ack) -> dict[str, str]:
    filled, given = _filled(settings)
    body = json.dumps(_body(program, pool, settings), ensure_ascii=False, separators=(",", ":"))
    return {"id": pool.id, "name": object_name(pool.id), "body": body, "filled": filled, "given": given}


def _filled(settings: Ack) -> tuple[str, str]:
    """Return the jq expression that completes a body, and its arguments from the script's variables."""
    filled, given = "$body", ""
    if not settings.vswitches:
        filled, given = f"{filled} | .scaling_group.vswitch_ids = $vswitches", '--argjson vswitches "$VSWITCH_IDS" '
    if settings.pool_type == "lingjun":
        filled, given = f"{filled} | .eflo_node_group = $eflo", f'{given}--argjson eflo "$EFLO_NODE_GROUP" '
    return filled, given


def _body(program: Program, pool: NodePool, settings: Ack) -> dict[str, object]:
    group: dict[str, object] = {"spot_strategy": spot_strategy(pool, settings)}
    if pool.machine_type is not None:
        group["instance_types"] = [pool.machine_type]
    if settings.vswitches:
        group["vswitch_ids"] = list(settings.vswitches)
    if settings.deployment_set is not None:
        group["deploymentset_id"] = settings.deployment_set
    if pool.reservation is not None:
        group["private_pool_options"] = {"match_criteria": "Target", "id": pool.reservation}
    return {
        "nodepool_info": {"name": object_name(pool.id), "type": settings.pool_type},
        "scaling_group": group,
        "auto_scaling": {
            "enable": True,
            "min_instances": pool.min_nodes,
            "max_instances": pool.max_nodes,
            "type": _scaling_type(pool, settings),
        },
        "kubernetes_config": {"labels": _labels(program, pool), "taints": _taints(pool)},
        "management": _management(settings),
    }
