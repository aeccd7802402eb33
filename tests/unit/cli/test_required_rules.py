"""What no switch of a policy, of a settings file or of the command line turns off."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

IMPORTS = "from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Rules, RuleSeverity, Waiver\n"
ACME = 'organisation=Organisation(name="acme", owner="@acme/platform")'
CLUSTER = 'Cluster(name="{cluster}", engine=Engine.KAI, engine_version="0.17.0")'
OFF = 'rules=Rules(severity={"AP104": RuleSeverity.OFF, "AP117": RuleSeverity.OFF, "AP124": RuleSeverity.OFF})'


def _policy(folder: Path, *, queue: str = "", environment: str = "prod", cluster: str = "c", more: str = "") -> Path:
    clusters = CLUSTER.format(cluster=cluster)
    (folder / "policy.py").write_text(
        f"{IMPORTS}policy = Policy({ACME}, queues=(Queue(id='vision', {queue}),), "
        f"environments=(Environment(name={environment!r}, clusters=({clusters},)),), {more})\n"
    )
    return folder


@pytest.mark.parametrize("name", ["../../../escape", "/tmp/escape", "..", "a/b", "Prod", "p" * 64])
def test_a_name_that_becomes_a_path_is_refused_whatever_the_policy_says(name: str, tmp_path: Path, run: Run) -> None:
    for address, named in ((f"environment {name}", {"environment": name}), (f"cluster prod/{name}", {"cluster": name})):
        waiver = f'Waiver(code="AP104", address={address!r}, reason="r", owner="@acme/a", expires="2099-01-01")'
        policy = _policy(tmp_path, more=f"{OFF}, waivers=({waiver},)", **named)
        done = run("compile", policy, "--out", tmp_path / "out" / "rendered")
        assert done.code == 1
        assert "error[AP104]" in done.text
        assert "error[AP123]" in done.text
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "namespace", ["kube-system", "argocd", "kai-resource-reservation", "openshift-monitoring", "gke-managed-system"]
)
def test_reserved_namespaces_stay_reserved(namespace: str, tmp_path: Path, run: Run) -> None:
    policy = _policy(tmp_path, queue=f"namespaces=({namespace!r},)")
    for switch in ((), ("--fail-on", "never")):
        done = run("validate", policy, *switch)
        assert done.code == 1
        assert f"claims the namespace {namespace}" in done.text


def test_the_platform_reserves_namespaces_out_of_the_policys_reach(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = _policy(tmp_path, queue='namespaces=("vault-prod",)')
    assert run("validate", policy).code == 0
    monkeypatch.setenv("APPORTION_RESERVED_NAMESPACES", "monitoring, vault-*")
    done = run("validate", policy)
    assert done.code == 1
    assert "policy.py:2: error[AP117] `vision` claims the namespace vault-prod, which belongs to the platform team" in (
        done.text
    )
    monkeypatch.setenv("APPORTION_RESERVED_NAMESPACES", "../x")
    refused = run("validate", policy)
    assert refused.code == 2
    assert '"../x" is none' in refused.err


def test_a_policy_adds_reserved_namespaces(tmp_path: Path, run: Run) -> None:
    policy = _policy(tmp_path, queue='namespaces=("vault-prod",)', more='rules=Rules(reserved_namespaces=("vault-*",))')
    assert "error[AP117]" in run("validate", policy).text


def test_labels_of_kubernetes_are_refused(tmp_path: Path, run: Run) -> None:
    policy = _policy(tmp_path, queue='labels={"pod-security.kubernetes.io/enforce": "privileged"}', more=OFF)
    done = run("compile", policy, "--out", tmp_path / "rendered")
    assert done.code == 1
    assert "error[AP124]" in done.text


def test_required_rules_are_marked(run: Run) -> None:
    listed = run("rules", "-q").out
    for code in ("AP104", "AP117", "AP123", "AP124"):
        assert f"{code}  required" in listed
    assert "This rule is required" in run("explain", "AP117").out
    assert "This rule is required" not in run("explain", "AP201").out
