"""The same groups as `aws` commands: each is made where it is not there, and brought to the policy where it is.

Commands: docs.aws.amazon.com/cli, eks, autoscaling and ec2. A launch template gets a new version each time, and groups
take the latest one.
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
from apportion_compiler.backends.nodepools.shell import Variable, Word, command, flag, quoted, script
from apportion_compiler.backends.pool_labels import set_labels
from apportion_compiler.ir.program import NodePool, Program
from apportion_policy.evaluation.sanitized_text import comment_lines
from apportion_policy.providers import Eks

_CLUSTER: Word = ("--cluster-name=", Variable("CLUSTER"))


def eks_script(program: Program, pools: Sequence[EksPool]) -> Artifact:
    """Return the script that makes and updates the groups of a cluster."""
    managed = [(pool, settings) for pool, settings in pools if settings.managed]
    needed: dict[str, str] = {}
    if any(settings.node_role is None for _, settings in managed):
        needed["NODE_ROLE_ARN"] = "the role of the nodes"
    if any(not settings.subnets for _, settings in pools):
        needed["SUBNETS"] = "the subnets of the nodes, with a comma between two"
    if len(managed) < len(pools):
        needed["LAUNCH_DATA"] = (
            "what launch templates of self-scaled nodes add, a JSON object of ImageId, UserData and so on"
        )
    notes = (
        "Make the node groups of a cluster, or bring them to the policy: sh apply.sh (needs aws and jq)",
        "Instance type, image type, capacity type and subnets are fixed when a managed group is created, and stay.",
        GENERATED,
    )
    parts = (_group(program, pool, settings) for pool, settings in pools)
    return Artifact(
        f"{FOLDER}/apply.sh", script(notes=notes, defaults={"CLUSTER": program.cluster}, needed=needed, parts=parts)
    )


def _group(program: Program, pool: NodePool, settings: Eks) -> str:
    body = _managed(program, pool, settings) if settings.managed else _self_scaled(program, pool, settings)
    template = _template(program, pool, settings) if needs_template(pool, settings) else ""
    return comment_lines((f"Node pool {pool.id}",)) + template + body


def _managed(program: Program, pool: NodePool, settings: Eks) -> str:
    name = flag("nodegroup-name", group_name(pool))
    labels, taints = dict(set_labels(program, pool)), cloud_taints(pool)
    describe = command(("aws", "eks", "describe-nodegroup", _CLUSTER, name))
    bounds = {"minSize": pool.min_nodes, "maxSize": pool.max_nodes}
    update: list[Word] = [
        *("aws", "eks", "update-nodegroup-config", _CLUSTER, name),
        flag("scaling-config", _json(bounds)),
        flag("labels", _json({"addOrUpdateLabels": labels})),
    ]
    if taints:
        update.append(flag("taints", _json({"addOrUpdateTaints": taints})))
    update.append(flag("node-repair-config", _json({"enabled": settings.node_repair})))
    create: list[Word] = [
        *("aws", "eks", "create-nodegroup", _CLUSTER, name),
        ("--node-role=", Variable("NODE_ROLE_ARN"))
        if settings.node_role is None
        else flag("node-role", settings.node_role),
        flag("subnets", _json(settings.subnets)) if settings.subnets else ("--subnets=", Variable("subnets")),
        flag("scaling-config", _json({**bounds, "desiredSize": pool.min_nodes})),
        flag("capacity-type", capacity_type(pool, settings)),
        flag("labels", _json(labels)),
        flag("node-repair-config", _json({"enabled": settings.node_repair})),
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
    given = "" if settings.subnets else "subnets=" + _SUBNETS + "\n"
    return given + _either(describe, command(update, indent="  "), command(create, indent="  "))


_SUBNETS = "$(printf '%s' \"$SUBNETS\" | jq -Rc 'split(\",\")')"


def _self_scaled(program: Program, pool: NodePool, settings: Eks) -> str:
    name = flag("auto-scaling-group-name", group_name(pool))
    # An answer without groups is no failure here, so it is the name that is looked for.
    describe = command(
        ("aws", "autoscaling", "describe-auto-scaling-groups", flag("auto-scaling-group-names", group_name(pool)))
    )
    template = flag("launch-template", f"LaunchTemplateName={template_name(pool)},Version=$Latest")
    bounds = (flag("min-size", pool.min_nodes), flag("max-size", pool.max_nodes))
    zones: Word = (
        flag("vpc-zone-identifier", ",".join(settings.subnets))
        if settings.subnets
        else ("--vpc-zone-identifier=", Variable("SUBNETS"))
    )
    tags = [
        {
            "ResourceId": group_name(pool),
            "ResourceType": "auto-scaling-group",
            "Key": key,
            "Value": value,
            "PropagateAtLaunch": True,
        }
        for key, value in autoscaler_tags(program, pool).items()
    ]
    update = command(("aws", "autoscaling", "update-auto-scaling-group", name, template, *bounds, zones), indent="  ")
    create = command(("aws", "autoscaling", "create-auto-scaling-group", name, template, *bounds, zones), indent="  ")
    tag = command(("aws", "autoscaling", "create-or-update-tags", flag("tags", _json(tags))))
    found = f"{describe} --query 'AutoScalingGroups[].AutoScalingGroupName' --output text | grep -q ."
    return f"{_either(found, update, create)}\n{tag}"


def _template(program: Program, pool: NodePool, settings: Eks) -> str:
    name = flag("launch-template-name", template_name(pool))
    made = json.dumps(_template_data(pool, settings), separators=(",", ":"))
    data: Word = flag("launch-template-data", made)
    given = ""
    if not settings.managed:
        flags = "; ".join(kubelet_flags(program, pool))
        merge = f"jq -cn --argjson made {quoted(made)} --argjson given \"$LAUNCH_DATA\" '$made + $given'"
        given = comment_lines((f"UserData joins the node to the cluster with the kubelet flags: {flags}",))
        given += f"data=$({merge})\n"
        data = ("--launch-template-data=", Variable("data"))
    describe = command(("aws", "ec2", "describe-launch-templates", flag("launch-template-names", template_name(pool))))
    update = command(("aws", "ec2", "create-launch-template-version", name, data), indent="  ")
    create = command(("aws", "ec2", "create-launch-template", name, data), indent="  ")
    return f"{given}{_either(describe, update, create)}\n"


def _template_data(pool: NodePool, settings: Eks) -> Mapping[str, object]:
    """Return a launch template as EC2 spells it: the arguments of Pulumi's, in Pascal case."""
    return {key: value for key, value in _pascal(launch_template(pool, settings)).items() if key != "Name"}


def _pascal(arguments: Mapping[str, object]) -> dict[str, object]:
    return {
        "".join(part.capitalize() for part in key.split("_")): _pascal(value) if isinstance(value, Mapping) else value
        for key, value in arguments.items()
    }


def _either(found: str, update: str, create: str) -> str:
    condition = found if found.endswith("grep -q .") else f"{found} >/dev/null 2>&1"
    return f"if {condition}; then\n{update}\nelse\n{create}\nfi"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
