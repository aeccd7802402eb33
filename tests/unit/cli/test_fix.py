"""`validate --fix` applies only safe fixes by default, and no fix introduces a fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

POLICY = """\
from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, PriorityClass, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(cpu=16, memory="64Gi", gpu=0)),
        Queue(id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(cpu=20, memory="8Gi", gpu=0)),
    ),
    priority_classes=(PriorityClass(name="serving", value=200),),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)
"""
SAID = 'PriorityClass(name="serving", value=200, preemptible=False)'


@pytest.fixture(autouse=True)
def policy() -> Path:
    path = Path("policy.py")
    path.write_text(POLICY, encoding="utf-8")
    return path


def test_fix_does_not_change_quotas(run: Run, policy: Path) -> None:
    result = run("validate", "--fix")
    assert policy.read_text(encoding="utf-8") == POLICY.replace('PriorityClass(name="serving", value=200)', SAID)
    assert "1 more fix changes quotas, names or machines: review each, then pass --unsafe-fixes\n" in result.err
    assert "(validate --unsafe-fixes)" in result.out
    assert result.code == 1


@pytest.mark.parametrize("options", [("--unsafe-fixes",), ("--fix", "--unsafe-fixes")])
def test_unsafe_fixes_require_a_flag(run: Run, policy: Path, options: tuple[str, ...]) -> None:
    result = run("validate", *options)
    assert "cpu=20" not in policy.read_text(encoding="utf-8") or "cpu=16" not in policy.read_text(encoding="utf-8")
    assert "AP201" not in result.out


def test_fix_that_causes_an_error_is_reverted(run: Run, policy: Path) -> None:
    """The parent's promise may be raised for its children, but then it is above its own limit."""
    text = POLICY.replace(
        'Resources(cpu=16, memory="64Gi", gpu=0)),',
        'Resources(cpu=16, memory="64Gi", gpu=0), limit=Resources(cpu=18)),',
    ).replace("cpu=20,", "cpu=9, ")
    sibling = (
        'Queue(id="speech", parent="research", namespaces=("speech",), guaranteed=Resources(cpu=9)),\n    ),\n    pri'
    )
    text = text.replace("    ),\n    pri", f"    {sibling}", 1)
    policy.write_text(text, encoding="utf-8")
    codes = {finding["code"] for finding in _errors(run)}
    run("validate", "--unsafe-fixes")
    assert {finding["code"] for finding in _errors(run)} <= codes


def test_no_fix_sets_a_guarantee_to_zero(run: Run, policy: Path) -> None:
    """A limit of another queue leaves no room: that is no reason to write that a team gets nothing."""
    policy.write_text(POLICY.replace("cpu=16, ", "cpu=0, "), encoding="utf-8")
    run("validate", "--unsafe-fixes")
    assert 'parent="research", namespaces=("vision",), guaranteed=Resources(cpu=0' not in policy.read_text("utf-8")


def test_every_format_marks_safe_fixes(run: Run) -> None:
    run("validate", "-o", "json=r.json", "-o", "sarif=r.sarif")
    found = {f["code"]: f["fix"] for f in json.loads(Path("r.json").read_text("utf-8"))["findings"] if f["fix"]}
    assert (found["AP201"]["applicability"], found["AP405"]["applicability"]) == ("unsafe", "safe")
    (sarif,) = json.loads(Path("r.sarif").read_text("utf-8"))["runs"]
    fixes = {r["ruleId"]: r["fixes"][0]["properties"] for r in sarif["results"] if "fixes" in r}
    assert (fixes["AP201"], fixes["AP405"]) == ({"applicability": "unsafe"}, {"applicability": "safe"})


def _errors(run: Run) -> list[dict[str, object]]:
    findings = json.loads(run("validate", "-o", "json").out)["findings"]
    return [finding for finding in findings if finding["severity"] == "error"]


def test_each_cause_has_one_fix(run: Run) -> None:
    """A guarantee over its limit and over its parent: what cures the one cures the other, and no limit rises."""
    queue = 'Queue(id="a", parent="p", namespaces=("a",), guaranteed=Resources(gpu={}), limit=Resources(gpu=16))'
    text = (
        "from apportion_policy import Organisation, Policy, Queue, Resources\n"
        'policy = Policy(organisation=Organisation(name="acme", owner="@a/b"), '
        'queues=(Queue(id="p", guaranteed=Resources(gpu=16)), {}))\n'
    )
    Path("policy.py").write_text(text.format(queue.format(18)), encoding="utf-8")
    assert run("validate", "policy.py", "--unsafe-fixes").code == 0
    assert Path("policy.py").read_text(encoding="utf-8") == text.format(queue.format(16))
