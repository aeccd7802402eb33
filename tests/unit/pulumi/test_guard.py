"""The hook that blocks destructive deletions, as called by the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pulumi = pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")

from apportion_compiler.emit.pulumi.guard import Guard  # noqa: E402
from apportion_compiler.emit.pulumi.resource_options import owned  # noqa: E402
from apportion_compiler.rollout.destructive_changes import CLASS_VALUE, QUEUE_WITH_CHILDREN  # noqa: E402
from apportion_compiler.rollout.differences import differences  # noqa: E402

from .stack_runs import policy_in, run_stack  # noqa: E402

pytestmark = pytest.mark.pulumi


class _Hook:
    """Stands for the engine's registration of a hook, which needs an engine."""

    def __init__(self, name: str, func: Any, opts: Any) -> None:
        self.name, self.func, self.opts = name, func, opts


def _class(value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "t"}, "value": value}


def _queue(name: str, parent: str | None = None) -> dict[str, Any]:
    spec = {"parentQueue": parent}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _deleting(manifest: dict[str, Any]) -> Any:
    return pulumi.ResourceHookArgs("urn", "id", "name", "type", old_inputs=owned(manifest))


FORMER = [_class(1), _queue("research"), _queue("vision", "research")]
WANTED = [_class(2)]


def guard(monkeypatch: pytest.MonkeyPatch, *allowed: str, is_on: bool = True) -> Guard:
    monkeypatch.setattr(pulumi, "ResourceHook", _Hook)
    return Guard([differences(FORMER, WANTED)], allowed, is_on=is_on)


def test_disabled_guard_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = guard(monkeypatch, is_on=False)
    found.stop(_deleting(_class(1)))
    assert found.binding(_class(1)) is None


def test_guard_stops_only_destructive_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = guard(monkeypatch)
    with pytest.raises(
        ValueError,
        match=r"changes from 1 to 2.*to permit it, add priority-class-value to `apportion:allow`",
    ):
        found.stop(_deleting(_class(1)))
    with pytest.raises(ValueError, match="Queue research is deleted with everything below it: vision"):
        found.stop(_deleting(_queue("research")))
    found.stop(_deleting(_queue("vision", "research")))


def test_allowed_destructive_changes_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    found = guard(monkeypatch, CLASS_VALUE, QUEUE_WITH_CHILDREN)
    found.stop(_deleting(_class(1)))
    found.stop(_deleting(_queue("research")))


def test_hook_is_bound_only_to_destructive_deletions(tmp_path: Path) -> None:
    root = policy_in(tmp_path)
    plain = run_stack(root, {"environment": "on-kai"})
    assert {one.hooks for one in plain.objects.values()} == {()}
    guarded = run_stack(root, {"environment": "on-kai", "guard": "true"})
    bound = {one.type.rpartition(":")[2] for one in guarded.objects.values() if one.hooks}
    assert bound == {"Queue", "PriorityClass"}


def test_only_known_destructive_changes_can_be_allowed(tmp_path: Path) -> None:
    with pytest.raises(
        pulumi.RunError, match="apportion:allow must contain only priority-class-value, queue-with-children, not all"
    ):
        run_stack(policy_in(tmp_path), {"environment": "on-kai", "allow": "all"})
