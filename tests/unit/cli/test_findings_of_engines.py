"""`validate` and `compile` report the same findings in every format, including unsupported features."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run

POLICY = """
from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    environments=tuple(
        Environment(
            name=name,
            clusters=(
                Cluster(name="edge", engine=Engine.NATIVE, engine_version="1.34", kubernetes_version="1.34"),
            ),
        )
        for name in ("dev", "prod")
    ),
    queues=(Queue(id="vision", namespaces=("vision",), guaranteed=Resources(cpu=8)),),
)
"""


def test_validate_and_compile_report_the_same(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY, encoding="utf-8")
    judged, compiled = run("validate"), run("compile")
    assert "warning[AP506] plain Kubernetes does not support guaranteed" in judged.out
    assert judged.out == compiled.err
    assert run("validate", "--env", "dev").out == run("compile", "--env", "dev").err
    assert run("validate", "--fail-on", "warning").code == run("compile", "--fail-on", "warning").code == 1


def test_every_format_includes_engine_refusals(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY, encoding="utf-8")
    run("validate", "-o", "json=r.json", "-o", "sarif=r.sarif", "-o", "junit=r.xml")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["findings"]
    assert [(d["code"], d["severity"]) for d in found] == [("AP506", "warning")] * 2
    (run_,) = json.loads((tmp_path / "r.sarif").read_text(encoding="utf-8"))["runs"]
    assert [(r["ruleId"], r["level"]) for r in run_["results"]] == [("AP506", "warning")] * 2
    assert "AP506" in (tmp_path / "r.xml").read_text(encoding="utf-8")
    assert "AP506" in run("validate", "-o", "github").out
