"""What each backend writes for a small, complete policy, byte for byte.

A case is a folder with a `policy.py` of one cluster; `expected/<backend>/` holds the rendered tree. A case named after
a target that accompanies engines is of that target alone. Rewrite it with
`pytest --update-golden tests/golden` and review the diff.
"""

from __future__ import annotations

import runpy
import shutil
from datetime import date
from pathlib import Path

import pytest

from apportion_compiler.backends import COMPANIONS
from apportion_compiler.compile import compile_policy
from apportion_compiler.diagnostics.diagnostic import has_errors
from apportion_compiler.emit.tree import render_target
from apportion_compiler.targets import targets_of

AS_OF = date(2026, 11, 21)
CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/policy.py"))


def _compile(case: str) -> dict[str, dict[str, bytes]]:
    """Compile the policy of the current folder; the trees' files by backend."""
    policy = runpy.run_path("policy.py")["policy"]
    alone = [name for name in COMPANIONS if case.startswith(name)]
    compiled = compile_policy(policy, targets_of(policy, (), alone), AS_OF)
    assert not has_errors(compiled.diagnostics), compiled.diagnostics
    return {
        target.backend: render_target(
            output, {"environment": target.environment, "cluster": target.cluster, "target": target.backend}
        )
        for target, output in compiled.outputs.items()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tree_matches_golden_files(case: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool) -> None:
    monkeypatch.chdir(case)
    expected = Path("expected")
    trees = _compile(case.name)
    if update_golden:
        shutil.rmtree(expected, ignore_errors=True)
        for backend, files in trees.items():
            for name, content in files.items():
                path = expected / backend / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        return
    held = {
        folder.name: {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
        for folder in sorted(expected.iterdir())
    }
    assert {backend: sorted(files) for backend, files in trees.items()} == {b: sorted(f) for b, f in held.items()}
    for backend, files in trees.items():
        for name, content in files.items():
            assert content.decode() == held[backend][name].decode(), f"{backend}/{name}"
