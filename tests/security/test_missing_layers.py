"""Where the kernel or a container withholds a layer, evaluation works and says what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apportion_policy.evaluation.layers import LAYERS, missing_layers
from apportion_policy.evaluation.sandbox import find_kernel_layers

pytestmark = pytest.mark.security

# A container whose own seccomp profile refuses Landlock, namespaces and further filters, as old runtimes do.
CONTAINER = """
import ctypes, json, os, struct, sys
from apportion_policy.evaluation.kernel import prctl
from apportion_policy.evaluation.parent import Evaluated, start
number = {"x86_64": (444, 272, 317, 157), "aarch64": (444, 97, 277, 167)}[os.uname().machine]
refuse, allow = 0x50000 | 38, 0x7FFF0000
program = [(0x20, 0, 0, 0)]
for call in number[:3]:
    program += [(0x15, 0, 1, call), (0x06, 0, 0, refuse)]
# prctl(PR_SET_SECCOMP) as well.
program += [(0x15, 0, 3, number[3]), (0x20, 0, 0, 16), (0x15, 0, 1, 22), (0x06, 0, 0, refuse), (0x06, 0, 0, allow)]
packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
instructions = ctypes.create_string_buffer(packed, len(packed))
header = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(instructions)), 16)
prctl(38, 1)
prctl(22, 2, ctypes.addressof(header))
outcome = start(sys.argv[1]).result()
print(json.dumps([outcome.layers, [f.kind for f in getattr(outcome, "faults", ())]]))
"""
GOOD = 'from apportion_policy import Organisation, Policy\npolicy = Policy(organisation=Organisation(name="acme"))\n'


def in_container(folder: Path) -> tuple[list[str], list[str]]:
    if sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("imitates a container of Linux")
    ended = subprocess.run(
        [sys.executable, "-c", CONTAINER, str(folder)], capture_output=True, text=True, timeout=60, check=True
    )
    layers, kinds = json.loads(ended.stdout)
    return layers, kinds


def test_a_policy_is_evaluated_without_the_layers_of_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(GOOD)
    layers, kinds = in_container(tmp_path)
    assert kinds == []
    assert set(layers) >= {"scrubbed-environment", "resource-limits", "memory-limit", "audit-hook"}
    assert [layer.name for layer in missing_layers(tuple(layers))] == ["landlock", "seccomp"]


@pytest.mark.parametrize(
    "line", ["open('/etc/passwd')", "import socket; socket.socket()", "import os; os.fork()", "open('x', 'w')"]
)
def test_the_audit_hook_still_refuses_what_is_plainly_tried(line: str, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(f"{line}\n{GOOD}")
    assert in_container(tmp_path)[1] == ["sandbox-violation"]


def test_an_interpreter_without_ctypes_has_no_kernel_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apportion_policy.evaluation.linux_layers", None)
    assert find_kernel_layers(os.getpid()) is None


def test_every_layer_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs/security.md").read_text(encoding="utf-8")
    for layer in LAYERS:
        assert f"`{layer.name}`" in text
