"""If a layer that unreviewed code requires is missing, nothing is evaluated unless the command line permits it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from apportion_policy.evaluation import confinement_layers as layers
from apportion_policy.evaluation.confinement_layers import (
    FILES,
    LAYERS,
    MEMORY_LIMIT,
    NEEDED_FOR_UNTRUSTED,
    NETWORK_NAMESPACE,
    SYSTEM_CALLS,
    Layer,
    LayerFailedError,
    RaisedLayers,
    missing_layers,
    raise_layer,
)
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.sandbox import find_kernel_layers, is_enough

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(sys.platform != "linux", reason="requires Linux: containers are simulated with seccomp filters"),
]


def require_all_layers() -> None:
    """Skip the test on a system that lacks a layer; there, withholding one would show nothing."""
    if len(layers.NEEDED_FOR_UNTRUSTED) < 5:
        pytest.skip("this test withholds sandbox layers, and this system lacks some anyway: see `apportion doctor`")


@pytest.fixture(autouse=True)
def _all_layers() -> None:
    require_all_layers()


# A container with a seccomp profile that denies some system calls with an errno, as runtimes do.
CONTAINER = """
import ctypes, os, struct, sys
from apportion_policy.evaluation.kernel import prctl
code = int(sys.argv[1])
names = sys.argv[2].split(",")
numbers = {"x86_64": {"landlock": 444, "unshare": 272, "seccomp": 317, "prctl": 157, "capset": 126},
           "aarch64": {"landlock": 444, "unshare": 97, "seccomp": 277, "prctl": 167, "capset": 91}}[os.uname().machine]
refuse, allow = 0x50000 | code, 0x7FFF0000
program = [(0x20, 0, 0, 0)]
for name in names:
    if name != "filter":
        program += [(0x15, 0, 1, numbers[name]), (0x06, 0, 0, refuse)]
if "filter" in names:
    # prctl(PR_SET_SECCOMP) alone.
    program += [(0x15, 0, 3, numbers["prctl"]), (0x20, 0, 0, 16), (0x15, 0, 1, 22), (0x06, 0, 0, refuse)]
program += [(0x06, 0, 0, allow)]
packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
instructions = ctypes.create_string_buffer(packed, len(packed))
header = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(instructions)), 16)
prctl(38, 1)
prctl(22, 2, ctypes.addressof(header))
"""
EVALUATE = (
    CONTAINER
    + """
import json
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.parent import start
outcome = start(sys.argv[3], Limits(allow_missing_layers=True)).result()
print(json.dumps([outcome.layers, [f.kind for f in getattr(outcome, "faults", ())]]))
"""
)
COMMAND = (
    CONTAINER
    + """
from apportion_cli.main import main
sys.exit(main(sys.argv[3:]))
"""
)
OLD_CONTAINER = "landlock,unshare,seccomp,filter"
GOOD = 'from apportion_policy import Organisation, Policy\npolicy = Policy(organisation=Organisation(name="acme"))\n'
FLAG = "--allow-missing-layers"


def command(
    folder: Path,
    *arguments: str,
    withholds: str = "landlock",
    code: int = errno.ENOSYS,
    variables: Mapping[str, str] = os.environ,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", COMMAND, str(code), withholds, *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.py").write_text(f"open('{tmp_path}/ran', 'a')\n{GOOD}")
    (tmp_path / "sanitized_text.py").write_text(GOOD)
    return tmp_path


COMMANDS = {
    "validate": (),
    "graph": (),
    "compile": ("--out", "rendered"),
    "compile --check": ("--check", "--out", "rendered"),
    "explain queue": ("a", "-p", "policy.py"),
    "bind": ("team", "--kind", "Job", "-p", "policy.py", "--env", "prod"),
    "drift": ("prod", "--export", "empty.json", "-p", "policy.py"),
    "simulate": ("policy.py", "--scenario", "scenario.yaml"),
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_command_refuses_without_landlock(verb: str, folder: Path) -> None:
    (folder / "empty.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    (folder / "scenario.yaml").write_text("name: a\nuntil: 60\nnodes: []\nworkloads: []\n")
    name, *more = verb.split()
    given = COMMANDS[verb] if verb in ("explain queue", "bind", "drift", "simulate") else ("policy.py", *COMMANDS[verb])
    ended = command(folder, name, *(m for m in more if not m.startswith("--")), *given)
    assert ended.returncode == 3, ended.stderr
    first, hint = ended.stderr.splitlines()[-2:]
    assert first == (
        "apportion: error: the policy was not evaluated: this system lacks `landlock` (Function not implemented)"
    )
    assert FLAG in hint
    assert ended.stdout == ""
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("withholds", "code", "named"),
    [
        ("landlock", errno.EOPNOTSUPP, "`landlock` (Operation not supported)"),
        ("landlock", errno.EPERM, "`landlock` (Function not implemented)"),
        ("filter", errno.EINVAL, "`seccomp` (Invalid argument)"),
        (OLD_CONTAINER, errno.ENOSYS, "`landlock` (Function not implemented), `seccomp` (Function not implemented)"),
    ],
)
def test_missing_layer_is_refused_unless_permitted(withholds: str, code: int, named: str, folder: Path) -> None:
    refused = command(folder, "validate", "sanitized_text.py", withholds=withholds, code=code)
    assert (refused.returncode, named in refused.stderr) == (3, True)
    permitted = command(folder, "validate", "-q", "sanitized_text.py", FLAG, withholds=withholds, code=code)
    assert permitted.returncode == 0
    warnings = [line for line in permitted.stderr.splitlines() if line.startswith("apportion: warning: without `")]
    assert len(warnings) == named.count("`") // 2


@pytest.mark.parametrize(
    ("withholds", "code", "layer"),
    [
        ("landlock", errno.ENOMEM, "landlock"),
        ("filter", errno.EPERM, "seccomp"),
        ("unshare", errno.ENOMEM, "network-namespace"),
        ("capset", errno.EPERM, "no-capabilities"),
    ],
)
def test_other_layer_errors_are_fatal(withholds: str, code: int, layer: str, folder: Path) -> None:
    ended = command(folder, "validate", "sanitized_text.py", FLAG, withholds=withholds, code=code)
    assert ended.returncode == 3
    assert f"`{layer}` could not be enabled ({os.strerror(code)})" in ended.stderr


def test_missing_network_namespace_is_accepted(folder: Path) -> None:
    ended = command(folder, "validate", "sanitized_text.py", withholds="unshare", code=errno.EPERM)
    assert (ended.returncode, "warning: without" in ended.stderr) == (0, False)


@pytest.mark.parametrize("file", ["apportion.toml", "pyproject.toml"])
@pytest.mark.parametrize("key", ["allow-missing-layers", "allow_missing_layers"])
def test_settings_files_cannot_permit_missing_layers(file: str, key: str, folder: Path) -> None:
    table = "" if file == "apportion.toml" else "[tool.apportion]\n"
    (folder / file).write_text(f"{table}{key} = true\n")
    ended = command(folder, "validate", "sanitized_text.py")
    assert ended.returncode in (2, 3)


def test_variables_cannot_permit_missing_layers(folder: Path) -> None:
    names = ("APPORTION_ALLOW_MISSING_LAYERS", "APPORTION_VALIDATE_ALLOW_MISSING_LAYERS", "ALLOW_MISSING_LAYERS")
    ended = command(folder, "validate", "sanitized_text.py", variables=os.environ | dict.fromkeys(names, "1"))
    assert ended.returncode == 3


def test_doctor_reports_missing_layers(folder: Path) -> None:
    def states(*arguments: str) -> tuple[int, str]:
        ended = command(folder, "doctor", "-o", "json", *arguments)
        findings = json.loads(ended.stdout)["findings"]
        return ended.returncode, next(found["state"] for found in findings if found["name"] == "landlock")

    assert states() == (3, "bad")
    assert states(FLAG) == (0, "missing")


PLUGIN_TEST = """
def test_it(apportion_simulate):
    apportion_simulate("sanitized_text.py", "scenario.yaml")
"""
PYTEST = CONTAINER + "import pytest\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *sys.argv[3:]]))\n"


@pytest.mark.parametrize(
    ("arguments", "addopts", "said"),
    [
        pytest.param((), "", "this system lacks `landlock`", marks=pytest.mark.slow),
        ((), "--apportion-allow-missing-layers", "must be passed on the command line, without abbreviation"),
        pytest.param(("--apportion-allow-missing-layers",), "", "warning: without `landlock`", marks=pytest.mark.slow),
    ],
)
def test_outcome_tests_permit_missing_layers_only_by_option(
    arguments: tuple[str, ...], addopts: str, said: str, folder: Path
) -> None:
    (folder / "scenario.yaml").write_text("name: a\nuntil: 60\nnodes: []\nworkloads: []\n")
    (folder / "test_it.py").write_text(PLUGIN_TEST)
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {addopts}\n")
    ended = subprocess.run(
        [sys.executable, "-P", "-c", PYTEST, str(errno.ENOSYS), "landlock", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert said in ended.stdout + ended.stderr


def in_container(folder: Path) -> tuple[list[str], list[str]]:
    ended = subprocess.run(
        [sys.executable, "-c", EVALUATE, str(errno.ENOSYS), OLD_CONTAINER, str(folder)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    raised, kinds = json.loads(ended.stdout)
    return raised, kinds


def test_permitted_evaluation_runs_without_kernel_layers(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(GOOD)
    raised, kinds = in_container(tmp_path)
    assert kinds == []
    assert set(raised) >= {"scrubbed-environment", "resource-limits", "memory-limit", "audit-hook"}
    assert [layer.name for layer in missing_layers(tuple(raised))] == ["landlock", "seccomp"]


@pytest.mark.parametrize(
    "line", ["open('/etc/passwd')", "import socket; socket.socket()", "import os; os.fork()", "open('x', 'w')"]
)
def test_audit_hook_works_without_kernel_layers(line: str, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(f"{line}\n{GOOD}")
    assert in_container(tmp_path)[1] == ["sandbox-violation"]


def test_interpreter_without_ctypes_has_no_kernel_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apportion_policy.evaluation.linux_layers", None)
    assert find_kernel_layers(os.getpid()) is None


@pytest.mark.parametrize("layer", [FILES, SYSTEM_CALLS, NETWORK_NAMESPACE, MEMORY_LIMIT])
def test_unexpected_layer_error_is_a_failure(layer: Layer) -> None:
    def fails() -> None:
        raise OSError(errno.ENOMEM, "no memory")

    raised = RaisedLayers()
    with pytest.raises(LayerFailedError):
        raise_layer(layer, fails, raised)
    assert raised.failed == (layer.name, os.strerror(errno.ENOMEM))
    assert not is_enough(raised, ())


def test_limits_are_passed_to_the_child() -> None:
    for limits in (Limits(), Limits(wall_s=0.5, allow_missing_layers=True)):
        assert Limits.from_arguments(limits.to_arguments()) == limits


def test_every_layer_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs/security.md").read_text(encoding="utf-8")
    for layer in LAYERS:
        assert f"`{layer.name}`" in text
    assert {layer.name for layer in NEEDED_FOR_UNTRUSTED} == {
        "scrubbed-environment", "resource-limits", "memory-limit", "landlock", "seccomp"
    }  # fmt: skip
