"""The objects of a stack according to its state, which also records those of an interrupted update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_compiler.emit.pulumi import applied_objects as applied
from apportion_compiler.emit.pulumi.applied_objects import AppliedState, AppliedTarget
from apportion_compiler.emit.pulumi.resource_names import depth_of, is_ours
from apportion_compiler.emit.pulumi.resource_options import plain
from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.identity import identity_of

_OBJECT = "kubernetes:"


def applied_in(deployment: Mapping[str, Any]) -> AppliedState:
    """Return the objects that a stack has applied, from the deployment that Pulumi exports.

    If the state contains the same objects as the stack's output, return the output, which has their order. If they
    differ, an update was interrupted, and the state is authoritative.
    """
    resources: Sequence[Mapping[str, Any]] = deployment.get("resources") or ()
    output = AppliedState()
    held: dict[str, list[Manifest]] = {}
    depth = 0
    for resource in resources:
        urn, type_ = str(resource["urn"]), str(resource["type"])
        if type_ == "pulumi:pulumi:Stack":
            text = (resource.get("outputs") or {}).get(applied.OUTPUT)
            output = AppliedState() if not isinstance(text, str) else applied.load(text)
        elif type_.startswith(_OBJECT) and is_ours(urn) and not resource.get("delete"):
            cluster, backend, _ = urn.rpartition("::")[2].split("/", 2)
            depth = max(depth, depth_of(urn))
            held.setdefault(f"{cluster}/{backend}", []).append(plain(resource["inputs"]))
    return AppliedState({name: _reconciled(objects, output.targets.get(name)) for name, objects in held.items()}, depth)


def _reconciled(objects: Sequence[Manifest], output: AppliedTarget | None) -> AppliedTarget:
    by_key = {identity_of(m): m for m in objects}
    if output is not None and {identity_of(m): m for m in output.objects} == by_key:
        return output
    # The dependencies of the interrupted update are unknown: the next deletion waits until they are settled.
    return AppliedTarget(tuple(objects), is_settled=False)
