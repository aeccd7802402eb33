"""Settings that cannot be disabled by a policy, a settings file or the command line."""

from __future__ import annotations

import json
import subprocess
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
def test_path_traversal_names_are_always_refused(name: str, tmp_path: Path, run: Run) -> None:
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
def test_reserved_namespaces_cannot_be_allowed(namespace: str, tmp_path: Path, run: Run) -> None:
    policy = _policy(tmp_path, queue=f"namespaces=({namespace!r},)")
    for switch in ((), ("--fail-on", "never")):
        done = run("validate", policy, *switch)
        assert done.code == 1
        assert f"lists the namespace {namespace}" in done.text


def test_platform_can_reserve_namespaces(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = _policy(tmp_path, queue='namespaces=("vault-prod",)')
    assert run("validate", policy).code == 0
    monkeypatch.setenv("APPORTION_RESERVED_NAMESPACES", "monitoring, vault-*")
    done = run("validate", policy)
    assert done.code == 1
    assert "policy.py:2: error[AP117] `vision` lists the namespace vault-prod, which belongs to the platform team" in (
        done.text
    )
    monkeypatch.setenv("APPORTION_RESERVED_NAMESPACES", "../x")
    refused = run("validate", policy)
    assert refused.code == 2
    assert '"../x" is not' in refused.err


WEAKER = 'admission="warn", clusters'
LEFT = 'Cluster(managed_elsewhere=("admission",), '


def _repository(folder: Path, settings: str) -> None:
    """Make a base branch of the settings, over which the working tree then holds others."""
    (folder / "apportion.toml").write_text(settings)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), ("add", "--all"), (*identity, "commit", "-qm", "Base")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    (folder / "apportion.toml").write_text('weaker-enforcement = ["prod"]\n')


@pytest.mark.parametrize(
    ("former", "weaker", "scope"), [("clusters", WEAKER, "prod"), ("Cluster(name", LEFT + "name", "prod/c")]
)
def test_policy_cannot_weaken_enforcement(
    former: str, weaker: str, scope: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No severity, waiver, `--fail-on` or setting of the working tree makes it pass."""
    monkeypatch.chdir(tmp_path)
    off = 'rules=Rules(severity={"AP125": RuleSeverity.OFF})'
    policy = _policy(tmp_path, queue='namespaces=("vision",)', more=off) / "policy.py"
    policy.write_text(policy.read_text().replace(former, weaker))
    assert "error[AP123]" in run("validate", "policy.py").text
    policy.write_text(policy.read_text().replace(off, ""))
    unasked = run("validate", "policy.py")
    assert (unasked.code, "warning[AP125]" in unasked.text) == (0, True)
    _repository(tmp_path, 'weaker-enforcement = ["dev"]\n')
    for verb in (("validate", "policy.py"), ("compile", "policy.py", "--out", "rendered")):
        judged = run(*verb, "--settings-from", "HEAD", "--fail-on", "never")
        assert (judged.code, "error[AP125]" in judged.text) == (1, True)
    assert run("validate", "policy.py", "--weaker-enforcement", "dev,prod/other").code == 1
    for agreed in (scope, "dev,prod"):
        done = run("validate", "policy.py", "--weaker-enforcement", agreed)
        assert (done.code, "AP125" in done.text) == (0, False)


def test_base_branch_can_reserve_namespaces(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _policy(tmp_path, queue='namespaces=("vault-prod",)')
    _repository(tmp_path, 'reserved-namespaces = ["monitoring", "vault-*"]\n')
    assert run("validate", "policy.py").code == 0
    assert "belongs to the platform team" in run("validate", "policy.py", "--settings-from", "HEAD").text
    assert "belongs to the platform team" in run("validate", "policy.py", "--reserved-namespaces", "vault-*").text
    refused = run("validate", "policy.py", "--reserved-namespaces", "../x")
    assert (refused.code, '"../x" is not' in refused.err) == (2, True)


@pytest.mark.parametrize("engine", ["kai", "kueue"])
def test_unenforced_features_are_not_exact(engine: str, tmp_path: Path, run: Run) -> None:
    policy = _policy(tmp_path, queue='namespaces=("vision",)') / "policy.py"
    text = (
        policy.read_text()
        .replace("Engine.KAI", f"Engine('{engine}')")
        .replace("0.17.0", "0.18.3" if engine == "kueue" else "0.17.0")
    )
    policy.write_text(text)
    assert run("compile", policy, "--out", tmp_path / "a", "-o", "json").code == 0
    for weakened in (("clusters", WEAKER), ("Cluster(name", LEFT + "name")):
        policy.write_text(text.replace(*weakened))
        report = json.loads(run("compile", policy, "--out", tmp_path / "b", "-o", "json").out)
        (line,) = [one for target in report["targets"] for one in target["fidelity"] if one["feature"] == "namespaces"]
        assert line["verdict"] == "approximated"
        assert "admission policies" in line["how"]


def test_policy_can_reserve_namespaces(tmp_path: Path, run: Run) -> None:
    policy = _policy(tmp_path, queue='namespaces=("vault-prod",)', more='rules=Rules(reserved_namespaces=("vault-*",))')
    assert "error[AP117]" in run("validate", policy).text


def test_reserved_kubernetes_labels_are_refused(tmp_path: Path, run: Run) -> None:
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
