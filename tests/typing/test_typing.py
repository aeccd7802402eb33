"""Type checking of policies: mypy accepts valid code and rejects invalid code, line by line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_HERE = Path(__file__).parent
_ERROR = re.compile(r"invalid_policies\.py:(\d+): error: .*\[([a-z-]+)\]$")


def _mypy(file: str) -> str:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--hide-error-context",
        str(_HERE / file),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_what_is_right_is_accepted() -> None:
    assert _mypy("valid_policies.py") == ""


def test_what_is_wrong_is_refused_at_its_line() -> None:
    lines = (_HERE / "invalid_policies.py").read_text().splitlines()
    expected = {(n, line.split("# E: ")[1]) for n, line in enumerate(lines, start=1) if "# E: " in line}
    found = {(int(m[1]), m[2]) for m in map(_ERROR.search, _mypy("invalid_policies.py").splitlines()) if m}
    assert found == expected
