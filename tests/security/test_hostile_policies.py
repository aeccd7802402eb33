"""Each hostile or broken policy results in one clear fault at the author's line, and leaks no secret.

A case is a policy as its author would write it. Each line that the fault may name ends in `# here`.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.parent import start
from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
from apportion_policy.wire import WireError, load

from .hostile_policies import CASES, LIMITS, Case

pytestmark = pytest.mark.security

_ENDED_S = 60
"""The time, far below that of a policy that never ends, in which even a busy machine ends one at its limit."""
LINUX = sys.platform == "linux"
CANARY = "canary-2f9c41d7"
GOOD = 'from apportion_policy import Organisation, Policy\npolicy = Policy(organisation=Organisation(name="acme"))\n'


def rejected(entry: Path, limits: Limits = LIMITS) -> Rejected:
    outcome = start(entry, limits).result()
    assert isinstance(outcome, Rejected), outcome
    return outcome


def only_fault(entry: Path, limits: Limits = LIMITS) -> Fault:
    (fault,) = rejected(entry, limits).faults
    return fault


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with secrets inside and outside it."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/config").write_text(CANARY)
    (folder / "teams").mkdir()
    (folder / "teams/.env").write_text(CANARY)
    (tmp_path / "secret.txt").write_text(CANARY)
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "enum.py").write_text("vision = 1\n")
    (folder / "native.so").write_bytes(b"\x7fELF")
    (folder / "bare.pyc").write_bytes(b"\0" * 16)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_hostile_policy_is_one_fault_at_its_line(case: Case, folder: Path) -> None:
    if case.linux_only and not LINUX:
        pytest.skip("this case requires Linux: /proc, its memory limit, or its sandbox layers")
    entry = folder / "policy.py"
    entry.write_text(case.source)
    began_s = time.monotonic()

    outcome = rejected(entry, case.limits)

    assert time.monotonic() - began_s < case.limits.wall_s + _ENDED_S
    (fault,) = outcome.faults
    assert fault.kind == case.kind, fault
    assert case.says in fault.message
    assert len(fault.message) < 2_100
    assert fault.message.isprintable()
    assert fault.file == str(entry)
    marked = [n for n, line in enumerate(case.source.splitlines(), 1) if line.endswith("# here")]
    assert fault.line in (marked or [None])
    assert CANARY not in repr(outcome)


def test_environment_variables_are_cleared(folder: Path) -> None:
    (folder / "policy.py").write_text("import os\nprint(sorted(os.environ))\nprint(os.environ)\n" + GOOD)
    outcome = start(folder).result()
    assert isinstance(outcome, EvaluatedPolicy)
    assert CANARY not in repr(outcome)
    assert "HOME" not in outcome.printed
    assert "AWS" not in outcome.printed
    assert "PATH" not in outcome.printed.replace("LD_LIBRARY_PATH", "")


def test_policy_output_is_separated_and_escaped(folder: Path) -> None:
    (folder / "policy.py").write_text(
        "import sys\nprint('\\x1b[31mred', file=sys.stderr)\nprint('::add-mask::x')\nprint('##vso[task.x]')\n" + GOOD
    )
    outcome = start(folder).result()
    assert isinstance(outcome, EvaluatedPolicy)
    assert sorted(outcome.printed.splitlines()) == ["# #vso[task.x]", ": :add-mask::x", "\\x1b[31mred"]


def test_policy_output_is_truncated(folder: Path) -> None:
    (folder / "policy.py").write_text("for _ in range(3000):\n    print('x' * 99)\n" + GOOD)
    outcome = start(folder).result()
    assert isinstance(outcome, EvaluatedPolicy)
    assert len(outcome.printed) < 70_000
    assert outcome.printed.endswith("(output truncated)")


def test_policy_can_handle_refused_access(folder: Path) -> None:
    (folder / "policy.py").write_text("try:\n    open('/etc/passwd')\nexcept OSError:\n    pass\n" + GOOD)
    assert isinstance(start(folder).result(), EvaluatedPolicy)


def test_files_read_are_listed(folder: Path) -> None:
    (folder / "teams/vision.py").write_text("LIMIT = 3\n")
    (folder / "quota.csv").write_text("a,1\n")
    (folder / "unused.py").write_text("")
    (folder / "policy.py").write_text("from teams.vision import LIMIT\nopen('quota.csv').read()\n" + GOOD)
    outcome = start(folder).result()
    assert isinstance(outcome, EvaluatedPolicy)
    assert outcome.files == tuple(str(folder / name) for name in ("policy.py", "teams/vision.py", "quota.csv"))
    assert not list(folder.rglob("__pycache__"))


def test_bytecode_files_are_not_executed(folder: Path) -> None:
    """Reviewers read the source; `__pycache__` in a pull request may contain other code."""
    import importlib.util
    import py_compile

    module = folder / "limits_of_team.py"
    module.write_text("raise SystemExit\n")
    cached = Path(importlib.util.cache_from_source(str(module)))
    py_compile.compile(str(module), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert cached.exists()
    module.write_text("LIMIT = 4\n")
    (folder / "policy.py").write_text("import limits_of_team\n" + GOOD)
    assert isinstance(start(folder).result(), EvaluatedPolicy)


def test_locations_outside_the_policy_are_dropped(folder: Path) -> None:
    """The renderer of a fault quotes its line, which must not be from a file outside the policy."""
    (folder / "policy.py").write_text("exec(compile('1/0', '/etc/shadow', 'exec'))\n")
    fault = only_fault(folder)
    assert (fault.kind, fault.file, fault.line) == ("policy-exception", str(folder / "policy.py"), 1)
    (folder / "policy.py").write_text(
        "from apportion_policy.evaluation.source_importer import RefusedSourceError\n"
        "from apportion_policy.evaluation.fault import Fault\n"
        "raise RefusedSourceError(Fault('syntax-error', 'x', '/etc/shadow', 1, related=(('/etc/shadow', 1, 'y'),)))\n"
    )
    outcome = rejected(folder)
    assert "/etc/shadow" not in repr(outcome.faults)


def test_native_recursion_has_a_line(folder: Path) -> None:
    """Python 3.12 and later detect it; earlier versions crash, but the line is reported."""
    (folder / "policy.py").write_text(
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self):\n        return "
        "repr([self])\nrepr(A())\n"
    )
    fault = only_fault(folder)
    assert fault.kind == ("policy-exception" if sys.version_info >= (3, 12) else "evaluation-crashed")
    # If the stack overflows on entry to the method, its first line is the last one known.
    assert fault.file == str(folder / "policy.py")
    assert fault.line in (4, 5)


def test_forged_answer_is_limited_to_its_own_files(folder: Path) -> None:
    """A policy can forge its response, but not name other files or layers, or have its bytes trusted."""
    (folder / "policy.py").write_text(
        "import os\n"
        'head = b\'{"layers": ["perfect"], "faults": [], "files": ["/etc/shadow"], "bytes": 7}\'\n'
        "for fd in range(3, 64):\n"
        "    try:\n        os.write(fd, head + b'\\nrubbish')\n"
        "    except OSError:\n        pass\n"
        "os._exit(0)\n"
    )
    outcome = start(folder, LIMITS).result()
    assert isinstance(outcome, EvaluatedPolicy)
    assert outcome.files == (str(folder / "policy.py"),)
    assert "perfect" not in outcome.layers
    with pytest.raises(WireError):
        load(outcome.document)


def test_suppressed_refusal_is_named_as_the_likely_cause(folder: Path) -> None:
    (folder / "policy.py").write_text("try:\n    open('/etc/passwd')\nexcept OSError:\n    pass\n1 / 0\n")
    assert only_fault(folder).hint == (
        "earlier sandbox violation: this policy tried to read /etc/passwd, which is outside the policy's folder"
    )


def test_call_chain_is_reported(folder: Path) -> None:
    (folder / "teams/vision.py").write_text("def quota():\n    raise ValueError('no quota')\n")
    (folder / "policy.py").write_text("from teams.vision import quota\n\ndef all():\n    quota()\n\nall()\n")
    fault = only_fault(folder)
    assert (fault.file, fault.line) == (str(folder / "teams/vision.py"), 2)
    assert fault.related == (
        (str(folder / "policy.py"), 6, "calls `all`"),
        (str(folder / "policy.py"), 4, "calls `quota`"),
    )


def test_syntax_error_has_the_location_of_its_module(folder: Path) -> None:
    (folder / "teams/vision.py").write_text("def quota(:\n")
    (folder / "policy.py").write_text("\nimport teams.vision\n")
    fault = only_fault(folder)
    assert (fault.kind, fault.file, fault.line) == ("syntax-error", str(folder / "teams/vision.py"), 1)
    assert fault.column == 10
    assert fault.related == ((str(folder / "policy.py"), 2, "imported from here"),)


def test_every_wrong_value_of_every_file_is_reported_at_once(folder: Path) -> None:
    for team in ("a", "b"):
        (folder / f"teams/{team}.py").write_text(
            f"from apportion_policy import Queue\n{team} = Queue(id='{team}', no_such_field=1)\n"
        )
    (folder / "policy.py").write_text(
        "from apportion_policy import Organisation, Policy, collect, Queue\n"
        "policy = Policy(organisation=Organisation(name=''), queues=collect('teams', Queue))\n"
    )
    faults = rejected(folder).faults
    assert {(Path(fault.file or "").name, fault.line) for fault in faults} >= {
        ("a.py", 2),
        ("b.py", 2),
        ("policy.py", 2),
    }
    assert {fault.kind for fault in faults} == {"invalid-value"}


@pytest.mark.parametrize(
    ("data", "kind", "line"),
    [
        (b"x = 1\ny = '\xff'\n", "invalid-encoding", 2),
        (b"x = 1\n\0\n", "invalid-encoding", 2),
        (b"# coding: no-such-encoding\n", "syntax-error", None),
        (b"#" * 3_000_000, "document-too-large", None),
    ],
    ids=["invalid-utf-8", "null-byte", "unknown-encoding", "too-long"],
)
@pytest.mark.parametrize("module", ["policy.py", "teams/vision.py"])
def test_source_that_is_not_utf_8(data: bytes, kind: str, line: int | None, module: str, folder: Path) -> None:
    (folder / "policy.py").write_text("import teams.vision\n")
    (folder / module).write_bytes(data)
    fault = only_fault(folder, replace(LIMITS, source_bytes=2_000_000))
    assert (fault.kind, fault.file) == (kind, str(folder / module))
    assert fault.line == line or kind == "syntax-error"


def test_outcome_is_independent_of_when_it_is_read(folder: Path) -> None:
    (folder / "policy.py").write_text(GOOD)
    running = start(folder, replace(LIMITS, wall_s=5))
    time.sleep(5.2)
    assert isinstance(running.result(), EvaluatedPolicy)
    assert running.result() is running.result()


def test_cancelled_evaluation_leaves_no_process(folder: Path) -> None:
    (folder / "policy.py").write_text("while True:\n    pass\n")
    running = start(folder)
    running.cancel()
    assert isinstance(running.result(), Rejected)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_evaluation_is_deterministic(folder: Path) -> None:
    (folder / "policy.py").write_text(
        "from apportion_policy import Organisation, Policy, Queue\n"
        "policy = Policy(organisation=Organisation(name='a'), queues=tuple(Queue(id=i) for i in "
        "{'x', 'y', 'z', 'w'}))\n"
    )
    first, second = start(folder), start(folder)
    assert first.result() == second.result()
