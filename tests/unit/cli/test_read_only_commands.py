"""Read-only commands: graph, explain, doctor, init, and their output without content."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from .conftest import Run

_ACME = Path(__file__).parents[3] / "examples" / "acme"
_AS_OF = ("--as-of", "2026-11-21")
_PROD = ("--env", "prod", "--cluster", "gpu-eu")


def test_graph_fits_80_columns(run: Run) -> None:
    shown = run("graph", str(_ACME), *_PROD, *_AS_OF)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == "prod/gpu-eu: 112 GPUs in node pools"
    assert lines[1].split() == ["platform", "▓░░│", "7", "guaranteed,", "limit", "20"]
    assert all(len(line) <= 80 for line in lines)


def test_every_graph_format_shows_the_same_numbers(run: Run) -> None:
    where = ("graph", str(_ACME), *_PROD, "--resource", "gpu/h100", *_AS_OF)
    rows = json.loads(run(*where, "-o", "json").out)["queues"]
    text = run(*where).out
    mermaid = run(*where, "-o", "mermaid").out
    svg = ElementTree.fromstring(run(*where, "-o", "svg").out)
    drawn = "\n".join(element.text or "" for element in svg.iter())
    for row in rows:
        limit = "" if row["limit"] is None else f", limit {row['limit']}"
        assert f"{row['guaranteed']} guaranteed{limit}" in text
        assert f"{row['guaranteed']} H100 guaranteed{limit}" in drawn
        assert f"{row['id']}<br/>{row['guaranteed']} H100" in mermaid


def test_plain_is_ascii(run: Run) -> None:
    assert run("graph", str(_ACME), "--plain", *_AS_OF).out.isascii()


def test_explain_shows_the_origin_of_each_value(run: Run) -> None:
    document = json.loads(run("explain", "queue", "nlp", "-p", str(_ACME), *_PROD, "-o", "json", *_AS_OF).out)
    values = {value["field"]: value for value in document["values"]}
    assert values["guaranteed gpu/h100"]["value"] == "8 H100"
    assert (
        values["guaranteed gpu/h100"]["origin"]
        == "override in effect until 2026-12-31, times the cluster's share of 1/4"
    )
    assert values["guaranteed gpu/h100"]["file"].endswith("teams/nlp.py")
    assert values["reclaim min runtime"]["origin"] == "inherited from `research`"


def test_explain_after_an_override_shows_the_base_value(run: Run) -> None:
    shown = run("explain", "queue", "nlp", "-p", str(_ACME), *_PROD, "--as-of", "2027-01-01", "-o", "json")
    values = {value["field"]: value["value"] for value in json.loads(shown.out)["values"]}
    assert values["guaranteed gpu/h100"] == "6 H100"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["explain", "queue", "nlpp", "-p", str(_ACME)], "queue nlpp does not exist; did you mean nlp?"),
        (["graph", str(_ACME), "--env", "prd"], "environment prd does not exist; did you mean prod?"),
        (["graph", str(_ACME), "--resource", "tpu"], "no queue declares tpu"),
        (["graph", str(_ACME), "--cluster", "gpu-eu"], "--cluster requires --env"),
        (["explain", "a", "b", "c"], "specify a rule such as AP201"),
    ],
)
def test_unknown_names_are_usage_errors(arguments: list[str], says: str, run: Run) -> None:
    refused = run(*arguments)
    assert refused.code == 2
    assert says in " ".join(refused.err.split())
    assert "Traceback" not in refused.err


def test_explain_rule_prints_its_page(run: Run) -> None:
    shown = run("explain", "ap201")
    assert shown.code == 0
    assert shown.out.startswith("# AP201: quota-oversubscribed")


def test_scaffold_validates_and_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    assert run("init", "quotas").code == 0
    quotas = tmp_path / "quotas"
    monkeypatch.chdir(quotas)
    checked = run("validate", "--fail-on", "warning")
    assert checked.code == 0, checked.out
    assert run("compile").code == 0
    assert run("compile", "--check").code == 0
    assert (quotas / ".github/workflows/apportion.yml").is_file()
    assert (quotas / ".pre-commit-config.yaml").is_file()


def test_init_does_not_overwrite_files(tmp_path: Path, run: Run) -> None:
    (tmp_path / "policy.py").write_text("mine")
    refused = run("init")
    assert refused.code == 3
    assert "already contains policy.py; nothing was written" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["policy.py"]


def test_doctor_compares_an_export_with_the_policy(tmp_path: Path, run: Run) -> None:
    container = {"name": "manager", "image": "registry.k8s.io/kueue/kueue:v0.16.0"}
    spec = {"template": {"spec": {"containers": [container]}}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kueue"}, "spec": spec}
    export = tmp_path / "export.json"
    export.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [deployment]}), encoding="utf-8")
    where = ("-p", str(_ACME), "--env", "prod", "--cluster", "queue-asia", *_AS_OF)
    shown = run("doctor", "--export", str(export), *where, "-o", "json")
    assert shown.code == 3
    found = {(f["name"], f["state"]): f["text"] for f in json.loads(shown.out)["findings"]}
    assert found["Kueue version", "bad"] == "v0.16.0, but the policy specifies 0.18.3"
    assert ("ConfigMap kueue-system/kueue-manager-config", "missing") in found


def test_doctor_reports_the_sandbox(run: Run) -> None:
    document = json.loads(run("doctor", "-o", "json").out)
    layers = {f["name"]: f["state"] for f in document["findings"] if f["section"] == "confinement"}
    assert layers["scrubbed-environment"] == "ok"
    assert "landlock" in layers
