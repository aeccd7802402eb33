"""A preview uses another policy with the program and the configuration of the stack's own folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from apportion_compiler.emit.pulumi.environment_variables import POLICY
from apportion_compiler.emit.pulumi.settings import read_settings
from apportion_compiler.emit.pulumi.stack_config import Values
from apportion_compiler.emit.pulumi.stack_targets import rooted


def test_only_the_policy_is_read_from_another_root() -> None:
    settings = read_settings(Values({"apportion:policy": "."}), "dev")
    base = Path("/work-tree/base")
    assert rooted(settings, base, {}).policy == "/work-tree/base"
    head = rooted(settings, base, {POLICY: "/work-tree/head/policy.py"})
    assert head == replace(settings, policy="/work-tree/head/policy.py")
