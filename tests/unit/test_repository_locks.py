"""The lock files agree with each other and with pyproject.toml, and name no index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIERS = ("base", "scheduler", "test", "browser", "dev")
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)( ; [^\\]+)? \\$", re.MULTILINE)


def pins(tier: str) -> set[tuple[str, str, str]]:
    """The lock files are consistent with each other and with pyproject.toml, and name no index."""
    return {
        (name, version, marker.strip())
        for name, version, marker in PIN.findall((ROOT / f"locks/{tier}.txt").read_text())
    }


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~!; ]", text, maxsplit=1)[0].lower() for text in requirements}


@pytest.mark.parametrize(
    ("smaller", "larger"), [("base", "scheduler"), ("scheduler", "test"), ("test", "browser"), ("browser", "dev")]
)
def test_locks_agree_on_versions(smaller: str, larger: str) -> None:
    pinned_in_both = {(name, version) for name, version, _ in pins(smaller)}
    assert pinned_in_both - {(name, version) for name, version, _ in pins(larger)} == set()


@pytest.mark.parametrize("tier", TIERS)
def test_every_lock_entry_is_hashed(tier: str) -> None:
    """So that pip refuses an index which serves other bytes, and no line leads pip to an index of its own."""
    lines = (ROOT / f"locks/{tier}.txt").read_text().splitlines()
    statements = [line for line in lines if line and not line.lstrip().startswith("#")]
    strangers = [
        line
        for line in statements
        if not PIN.match(line) and not re.match(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$", line)
    ]
    assert strangers == []


def test_direct_dependencies_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    needed = {
        "base": project["project"]["dependencies"] + groups["build"],
        "scheduler": project["project"]["optional-dependencies"]["kube"],
        "test": groups["test"],
        "browser": groups["browser"],
        "dev": [entry for group in groups.values() for entry in group if isinstance(entry, str)]
        + project["project"]["optional-dependencies"]["docs"],
    }
    missing = {tier: names(needed[tier]) - {name for name, _, _ in pins(tier)} for tier in TIERS}
    assert missing == {tier: set() for tier in TIERS}
