"""Applied objects according to a stack's exported state: its own output if consistent, else the existing resources."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")

from apportion_compiler.emit.pulumi.applied_objects import AppliedState, AppliedTarget, dump, load
from apportion_compiler.emit.pulumi.resource_options import owned
from apportion_compiler.emit.pulumi.state import applied_in

pytestmark = pytest.mark.pulumi


def _object(name: str, **spec: int) -> dict[str, Any]:
    metadata = {"name": name}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": metadata, "spec": dict(spec)}


A, B = _object("a", gpu=1), _object("b", gpu=2)
SAID = AppliedState({"main/kai": AppliedTarget((A, B))})


def _deployment(*objects: dict[str, Any], said: AppliedState = SAID, **more: Any) -> dict[str, Any]:
    stack = {"urn": "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev", "type": "pulumi:pulumi:Stack"}
    type_ = "kubernetes:scheduling.run.ai/v2:Queue"
    held = [
        {
            "urn": f"urn:pulumi:dev::p::apportion:index:Target${type_}::main/kai/Queue/{one['metadata']['name']}",
            "type": type_,
            "inputs": owned(one),
            **more,
        }
        for one in objects
    ]
    return {"resources": [{**stack, "outputs": {"applied": dump(said)}}, *held]}


def test_state_keeps_the_order_of_the_stack() -> None:
    assert applied_in(_deployment(B, A)) == SAID


def test_interrupted_update_is_read_from_the_deployment() -> None:
    found = applied_in(_deployment(_object("a", gpu=5))).targets["main/kai"]
    assert found == AppliedTarget((_object("a", gpu=5),), is_settled=False)


def test_objects_pending_deletion_are_ignored() -> None:
    assert applied_in(_deployment(A, B, delete=True)) == AppliedState()


def test_depth_is_read_from_the_deployment() -> None:
    deployment = _deployment(A)
    one = deployment["resources"][1]
    queue = "apportion:index:Queue"
    one["urn"] = one["urn"].replace("Target$", f"Target${queue}${queue}$")
    assert applied_in(deployment).depth == 2
    assert load(dump(applied_in(deployment))).depth == 2


@pytest.mark.parametrize("name", ["monitoring", "main/kai/ConfigMap/mine"])
def test_objects_of_other_programs_are_ignored(name: str) -> None:
    deployment = _deployment(A, B)
    urn = f"urn:pulumi:dev::p::kubernetes:core/v1:ConfigMap::{name}"
    deployment["resources"].append(
        {"urn": urn, "type": "kubernetes:core/v1:ConfigMap", "inputs": {"kind": "ConfigMap"}}
    )
    assert applied_in(deployment) == SAID


def test_new_stack_is_empty() -> None:
    assert applied_in({}) == AppliedState()


@pytest.mark.parametrize("text", ["", "rubbish", "e30="])
def test_foreign_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not written by this program"):
        load(text)


def test_applied_state_round_trips() -> None:
    assert load(dump(SAID)) == SAID
    assert dump(SAID) == dump(load(dump(SAID)))
