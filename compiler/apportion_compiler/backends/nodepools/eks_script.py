"""`aws` commands that create or update each node group.

Commands: docs.aws.amazon.com/cli, eks, autoscaling and ec2. Each run creates a new version of a launch template, and
groups use the latest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.backends.nodepools.eks import (
    FOLDER,
    EksPool,
    ami_type,
    autoscaler_tags,
    capacity_type,
    cloud_taints,
    group_name,
    kubelet_flags,
    launch_template,
    needs_template,
    template_name,
)
from apportion_compiler.backends.nodepools.shell import Variable, Word, flag, script
from apportion_compiler.backends.pool_labels import set_labels
from apportion_compiler.ir.program import NodePool, Program
from apportion_policy.providers import Eks


def eks_script(program: Program, pools: Sequence[EksPool]) -> Artifact:
    """Return the script that creates and updates the groups of a cluster."""
    managed = [(pool, settings) for pool, settings in pools if settings.managed]
    needed: dict[str, str] = {}
    if any(settings.node_role is None for _, settings in managed):
        needed["NODE_ROLE_ARN"] = "the IAM role for the nodes"
    if any(not settings.subnets for _, settings in pools):
        needed["SUBNETS"] = "the subnets for the nodes, separated by commas"
    if len(managed) < len(pools):
        needed["LAUNCH_DATA"] = (
            "additional launch template fields for self-managed nodes, such as ImageId and UserData, as a JSON object"
        )
    notes = (
        "Create or update the node groups of a cluster to match the policy. Usage: sh apply.sh (requires aws and jq)",
        (
            "A managed group's instance type, image type, capacity type and subnets cannot be changed after creation "
            "and are not updated."
        ),
        GENERATED,
    )
    text = script(
        "eks.sh.j2",
        notes=notes,
        needed=needed,
        defaults={"CLUSTER": program.cluster},
        cluster=("--cluster-name=", Variable("CLUSTER")),
        pools=[_group(program, pool, settings) for pool, settings in pools],
    )
    return Artifact(f"{FOLDER}/apply.sh", text)


def _group(program: Program, pool: NodePool, settings: Eks) -> Mapping[str, object]:
    commands = _managed(program, pool, settings) if settings.managed else _self_scaled(program, pool, settings)
    template = _template(program, pool, settings) if needs_template(pool, settings) else None
    return {"id": pool.id, "is_managed": settings.managed, "template": template, **commands}


def _managed(program: Program, pool: NodePool, settings: Eks) -> Mapping[str, object]:
    labels, taints = dict(set_labels(program, pool)), cloud_taints(pool)
    bounds = {"minSize": pool.min_nodes, "maxSize": pool.max_nodes}
    repair = flag("node-repair-config", _json({"enabled": settings.node_repair}))
    update: list[Word] = [
        flag("scaling-config", _json(bounds)),
        flag("labels", _json({"addOrUpdateLabels": labels})),
    ]
    if taints:
        update.append(flag("taints", _json({"addOrUpdateTaints": taints})))
    create: list[Word] = [
        ("--node-role=", Variable("NODE_ROLE_ARN"))
        if settings.node_role is None
        else flag("node-role", settings.node_role),
        flag("subnets", _json(settings.subnets)) if settings.subnets else ("--subnets=", Variable("subnets")),
        flag("scaling-config", _json({**bounds, "desiredSize": pool.min_nodes})),
        flag("capacity-type", capacity_type(pool, settings)),
        flag("labels", _json(labels)),
        repair,
    ]
    image = ami_type(pool, settings)
    if image is not None:
        create.append(flag("ami-type", image))
    if needs_template(pool, settings):
        create.append(flag("launch-template", _json({"name": template_name(pool), "version": "$Latest"})))
    elif pool.machine_type is not None:
        create.append(flag("instance-types", _json([pool.machine_type])))
    if taints:
        create.append(flag("taints", _json(taints)))
    return {
        "name": flag("nodegroup-name", group_name(pool)),
        "splits_subnets": not settings.subnets,
        "update_flags": [*update, repair],
        "create_flags": create,
    }


def _self_scaled(program: Program, pool: NodePool, settings: Eks) -> Mapping[str, object]:
    name = group_name(pool)
    tags = [
        {
            "ResourceId": name,
            "ResourceType": "auto-scaling-group",
            "Key": key,
            "Value": value,
            "PropagateAtLaunch": True,
        }
        for key, value in autoscaler_tags(program, pool).items()
    ]
    zones: Word = (
        flag("vpc-zone-identifier", ",".join(settings.subnets))
        if settings.subnets
        else ("--vpc-zone-identifier=", Variable("SUBNETS"))
    )
    return {
        "name": flag("auto-scaling-group-name", name),
        "names": flag("auto-scaling-group-names", name),
        "settings": [
            flag("launch-template", f"LaunchTemplateName={template_name(pool)},Version=$Latest"),
            flag("min-size", pool.min_nodes),
            flag("max-size", pool.max_nodes),
            zones,
        ],
        "tags": flag("tags", _json(tags)),
    }


def _template(program: Program, pool: NodePool, settings: Eks) -> Mapping[str, object]:
    made = json.dumps(_template_data(pool, settings), separators=(",", ":"))
    data: Word = flag("launch-template-data", made)
    return {
        "name": flag("launch-template-name", template_name(pool)),
        "names": flag("launch-template-names", template_name(pool)),
        "data": data if settings.managed else ("--launch-template-data=", Variable("data")),
        "data_merged": "" if settings.managed else made,
        "kubelet_flags": kubelet_flags(program, pool),
    }


def _template_data(pool: NodePool, settings: Eks) -> Mapping[str, object]:
    """Return a launch template in EC2 spelling: the arguments of Pulumi's resource, in Pascal case."""
    return {key: value for key, value in _pascal(launch_template(pool, settings)).items() if key != "Name"}


def _pascal(arguments: Mapping[str, object]) -> dict[str, object]:
    return {
        "".join(part.capitalize() for part in key.split("_")): _pascal(value) if isinstance(value, Mapping) else value
        for key, value in arguments.items()
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
