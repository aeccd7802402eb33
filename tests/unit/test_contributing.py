"""CONTRIBUTING.md's worked examples, executed in a copy of the packages."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from apportion_cli.fidelity_evidence import EVIDENCE, RECORDING

from ..conformance.schemas import errors

ROOT = Path(__file__).parents[2]
EXAMPLES = dict(
    section.split("\n", 1)
    for section in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Worked example: ")[1:]
)
FENCE = re.compile(r"^ *```\w+\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+\.(?:py|md|yaml))`")
PAGE = "docs/backends/plenum.md"
POLICY = "tests/golden/plenum-tree/policy.py"
DEFINITIONS = "tests/crds/README.md"
CRD = "tests/crds/plenum/plenum.example.com_pools.yaml"
PACKAGES = ("api", "policy", "compiler", "runtime", "review", "cli")

pytestmark = pytest.mark.slow


def _blocks(example: str) -> dict[str, str]:
    """The blocks of an example, each by the file that is named last before it."""
    text, blocks, end = EXAMPLES[example], dict[str, str](), 0
    for fence in FENCE.finditer(text):
        blocks[FILE.findall(text[end : fence.start()])[-1]] = dedent(fence[1])
        end = fence.end()
    return blocks


def _insert(file: Path, before: str, text: str) -> None:
    """Insert a line before the only one that matches."""
    (line,) = re.findall(before, file.read_text(), re.MULTILINE)
    file.write_text(file.read_text().replace(line, f"{text}\n{line}", 1))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout with an environment of its own, because a policy is evaluated by a child of its interpreter."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(tmp_path / ".venv", symlinks=True)
    (site_packages,) = (tmp_path / ".venv").glob("lib/python*/site-packages")
    found = (*(tmp_path / package for package in PACKAGES), sysconfig.get_path("purelib"))
    (site_packages / "checkout.pth").write_text("\n".join(map(str, found)), encoding="utf-8")
    return tmp_path


def _apportion(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [copy / ".venv/bin/python", "-m", "apportion_cli.main", *arguments],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )


def _pytest(copy: Path, *arguments: str) -> str:
    """Run tests of the checkout on the copy, and return what pytest prints; they must pass."""
    tests = copy / "tests"
    if not (tests / "conftest.py").exists():
        written = [file for file in tests.rglob("*") if file.is_file()]
        kept = {file: file.read_bytes() for file in written}
        shutil.copytree(ROOT / "tests", tests, ignore=_not_needed, dirs_exist_ok=True)
        for file, content in kept.items():
            file.write_bytes(content)
        with (copy / DEFINITIONS).open("a", encoding="utf-8") as definitions:
            definitions.write(_blocks("add an engine")[DEFINITIONS])
        shutil.copy(ROOT / "pyproject.toml", copy)
    ran = subprocess.run(
        [copy / ".venv/bin/python", "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *arguments],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def _not_needed(folder: str, names: list[str]) -> list[str]:
    """Exclude recorded decisions and other data."""
    return [name for name in names if name.endswith((".gz", ".jsonl", "__pycache__", "node_modules"))]


def _write(copy: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text, encoding="utf-8")


def _add_engine(copy: Path) -> None:
    blocks = _blocks("add an engine")
    line = blocks.pop("policy/apportion_policy/engine.py")
    assert line.count("\n") == 1
    _insert(copy / "policy/apportion_policy/engine.py", r"^    NATIVE = .*$", f"    {line.strip()}")
    folders = ("api/apportion_api/plenum/", "compiler/apportion_compiler/engines/plenum/")
    assert {name for name in blocks if not name.startswith(folders)} == {POLICY, PAGE, CRD, DEFINITIONS, EVIDENCE}
    _write(copy, {name: text for name, text in blocks.items() if name not in {DEFINITIONS, EVIDENCE}})
    _copy_evidence(copy)
    evidence = yaml.safe_load((copy / EVIDENCE).read_text(encoding="utf-8"))
    for section, entry in yaml.safe_load(blocks[EVIDENCE]).items():
        evidence[section] |= entry
    (copy / EVIDENCE).write_text(yaml.safe_dump(evidence, sort_keys=False), encoding="utf-8")


def test_added_engine_compiles(copy: Path) -> None:
    _add_engine(copy)
    validated = _apportion(copy, "validate", POLICY)
    assert validated.returncode == 0, validated.stdout + validated.stderr
    compiled = _apportion(copy, "compile", POLICY, "--out", "rendered")
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    target = copy / "rendered/prod/main/plenum"
    objects = [one for file in sorted(target.rglob("*.yaml")) for one in yaml.safe_load_all(file.read_text())]
    kinds = {one["kind"] for one in objects if one["kind"] != "Kustomization"}
    assert kinds == {"PriorityClass", "Pool", "Grant"}
    (pool,) = (one for one in objects if one["kind"] == "Pool")
    assert pool["spec"] == {"guaranteed": {"cpu": "64", "memory": "256Gi", "gpu": "8"}, "limit": {}}
    native = copy / "rendered/prod/main/native"
    roles = [one for file in native.rglob("*.yaml") for one in yaml.safe_load_all(file.read_text())]
    read = {
        one["metadata"]["name"]: rule["resources"]
        for one in roles
        if one["kind"] == "ClusterRole"
        for rule in one["rules"]
        if rule["apiGroups"] == ["plenum.example.com"]
    }
    assert read == {"apportion-team": ["grants"], "apportion-reader": ["pools"]}
    assert "plenum" in _apportion(copy, "import", "--help").stdout


def test_added_definition_validates_the_objects(copy: Path) -> None:
    _add_engine(copy)
    _apportion(copy, "compile", POLICY, "--out", "rendered")
    (pool,) = (
        one
        for file in (copy / "rendered/prod/main/plenum").rglob("*.yaml")
        for one in yaml.safe_load_all(file.read_text())
        if one["kind"] == "Pool"
    )
    assert errors(pool, copy / "tests/crds") == []
    wrong = {**pool, "spec": {**pool["spec"], "limits": {}}}
    assert errors(wrong, copy / "tests/crds") == [
        "spec: Additional properties are not allowed ('limits' was unexpected)"
    ]
    grant = {"apiVersion": "plenum.example.com/v1", "kind": "Grant", "metadata": {"name": "pool"}}
    assert errors(grant, copy / "tests/crds") == [
        "no schema for plenum.example.com/v1 Grant: add its definition to tests/crds"
    ]


def test_added_engine_drops_no_amount(copy: Path) -> None:
    _add_engine(copy)
    assert " passed" in _pytest(copy, "tests/conformance/test_declared_amounts.py", "-k", "plenum")


def test_added_engine_passes_the_tests_of_all_engines(copy: Path) -> None:
    _add_engine(copy)
    pool = yaml.safe_load((copy / CRD).read_text(encoding="utf-8"))
    pool["metadata"]["name"] = "grants.plenum.example.com"
    pool["spec"]["names"] = {"kind": "Grant", "listKind": "GrantList", "plural": "grants", "singular": "grant"}
    pool["spec"]["scope"] = "Namespaced"
    version = pool["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {"pool": {"type": "string"}}
    _write(copy, {CRD.replace("pools", "grants"): yaml.safe_dump(pool)})
    page = (copy / PAGE).read_text()
    shutil.copytree(ROOT / "docs", copy / "docs", dirs_exist_ok=True)
    _write(copy, {PAGE: page})
    tested = ("tests/golden/test_golden.py", "tests/bindings", "tests/conformance/test_backend_pages.py")
    _pytest(copy, "--update-golden", *tested, "-k", "plenum or table or page")
    conformance = (f"tests/conformance/test_{name}.py" for name in ("capabilities", "evidence", "schemas"))
    of_all = "plenum or unused or pending or every or up_to_date or name_gangs"
    _pytest(copy, *tested, *conformance, "-k", of_all)


def test_added_engine_refuses_a_limit_on_one_of_two_models(copy: Path) -> None:
    _add_engine(copy)
    pools = "".join(
        f'    NodePool(id="{model}", provider=Fixed(), cpu=64, memory="512Gi", min_nodes=2, max_nodes=2,\n'
        f'             accelerator=Accelerator(model="{model}", count=8, memory="80Gi")),\n'
        for model in ("h100", "a100")
    )
    text = (copy / POLICY).read_text()
    text = text.replace("guaranteed=", 'limit=Resources(gpu={"h100": 16}),\n            guaranteed=')
    text = text.replace("import Cluster", "import Accelerator, Cluster, Fixed, NodePool")
    text = text.replace("policy = Policy(", f"POOLS = (\n{pools})\n\npolicy = Policy(\n    node_pools=POOLS,")
    (copy / POLICY).write_text(text.replace('engine="plenum", ', 'engine="plenum", pools=POOLS, '))
    validated = _apportion(copy, "validate", POLICY)
    assert validated.returncode == 1, validated.stdout + validated.stderr
    assert "AP514" in validated.stdout
    assert "limits on only some GPU models (gpu/h100)" in validated.stdout


def test_commands_work_with_a_minimal_engine(copy: Path) -> None:
    _add_engine(copy)
    on_main = ("--env", "prod", "--cluster", "main")
    bound = _apportion(copy, "bind", "research", "--kind", "Job", "-p", POLICY, *on_main, "--name", "train")
    assert bound.returncode == 0, bound.stderr
    pod = yaml.safe_load(bound.stdout)["spec"]["template"]
    assert pod["metadata"]["labels"]["plenum.example.com/pool"] == "research"
    assert pod["spec"]["schedulerName"] == "plenum-scheduler"
    _apportion(copy, "compile", POLICY, "--out", "rendered")
    (copy / "rendered/job.yaml").write_text(bound.stdout, encoding="utf-8")
    judged = _apportion(copy, "validate", "--manifests", "rendered")
    assert (judged.returncode, judged.stderr) == (0, ""), judged.stdout
    refused = _apportion(copy, "simulate", POLICY, *on_main, "--scenario", _scenario(copy))
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "prod/main runs Plenum, which cannot be simulated; supported engines: " in refused.stderr
    unfit = _apportion(copy, "fit", POLICY, "-f", "rendered/job.yaml")
    assert (unfit.returncode, unfit.stdout) == (3, "")
    assert "the cluster runs Plenum, which the `fit` command does not support" in unfit.stderr
    running = {**pod, "apiVersion": "v1", "kind": "Pod", "spec": {**pod["spec"], "nodeName": "gpu-1"}}
    running["metadata"] = {**pod["metadata"], "name": "train", "namespace": "research"}
    (copy / "snapshot.yaml").write_text(yaml.safe_dump({**running, "status": {"phase": "Running"}}), encoding="utf-8")
    reviewed = _apportion(copy, "review", POLICY, POLICY, "--snapshot", "snapshot.yaml")
    assert (reviewed.returncode, reviewed.stderr) == (0, "")
    assert "evictions on Plenum are not modelled" in reviewed.stdout
    explained = _apportion(copy, "explain", "queue", "research", "-p", POLICY, "--env", "prod")
    assert "Fair shares on Plenum are not modelled." in explained.stdout
    (copy / "compiler/apportion_compiler/engines/plenum/binding.py").unlink()
    unbound = _apportion(copy, "bind", "research", "--kind", "Job", "-p", POLICY, *on_main)
    assert (unbound.returncode, unbound.stdout) == (2, "")
    assert "cluster main runs Plenum, which `bind` does not support" in unbound.stderr
    other = copy / POLICY
    other.write_text(
        other.read_text().replace('engine="plenum", engine_version="1.4.0"', 'engine="kai", engine_version="0.17.0"')
    )
    kai = _apportion(copy, "bind", "research", "--kind", "Job", "-p", POLICY, *on_main)
    assert kai.returncode == 0, kai.stderr


def test_added_engine_model_simulates(copy: Path) -> None:
    _add_engine(copy)
    _apportion(copy, "compile", POLICY, "--out", "rendered")
    blocks = _blocks("simulate an engine")
    folder = "runtime/apportion_runtime/engines/plenum/"
    assert blocks.keys() == {f"{folder}engine.py", f"{folder}model.py"}
    _write(copy, {f"{folder}__init__.py": '"""The Plenum engine."""\n', **blocks})
    _insert(copy / "runtime/apportion_runtime/engines/registry.py", r'^    "native",$', '    "plenum",')
    simulated = _apportion(copy, "simulate", "rendered/prod/main", "--scenario", _scenario(copy), "-o", "story")
    assert simulated.returncode == 0, simulated.stdout + simulated.stderr
    assert re.search(r"00:00:\d\d  train-0 starts", simulated.stdout), simulated.stdout
    assert re.search(r"train-1 waits.*nvidia.com/gpu", simulated.stdout), simulated.stdout
    assert re.search(r"01:00:\d\d  train-1 starts", simulated.stdout), simulated.stdout


def _scenario(copy: Path) -> str:
    """Two jobs of which one fits at a time."""
    job = {"name": "train", "kind": "Job", "namespace": "research", "queue": "research", "count": 2}
    scenario = {
        "nodes": [{"pool": "h100", "count": 1, "gpus": 8}],
        "workloads": [{**job, "pods": 1, "gpus": 8, "duration": "1h"}],
    }
    (copy / "scenario.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
    return "scenario.yaml"


def test_engine_page_is_generated(copy: Path) -> None:
    _add_engine(copy)
    page = (copy / PAGE).read_text()
    shutil.rmtree(copy / "docs")
    shutil.copytree(ROOT / "docs", copy / "docs")
    missing = _apportion(copy, "dev", "docs")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert f"{PAGE} does not exist" in missing.stderr
    _write(copy, {PAGE: page})
    written = _apportion(copy, "dev", "docs")
    assert written.returncode == 0, written.stderr
    assert "| allowed-classes | exact | ResourceQuotas of the native target" in (copy / PAGE).read_text()
    assert "[plenum](backends/plenum.md)" in (copy / "docs/fidelity.md").read_text()


def _copy_evidence(copy: Path) -> None:
    folder = (ROOT / EVIDENCE).parent
    for source in (ROOT / EVIDENCE, *folder.glob(f"*/{RECORDING}")):
        target = copy / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


@pytest.mark.parametrize("example", EXAMPLES)
def test_worked_examples_are_formatted(example: str, tmp_path: Path) -> None:
    files = {name: text for name, text in _blocks(example).items() if name.endswith(".py") and text.count("\n") > 1}
    _write(tmp_path, {name: text if text.endswith("\n") else f"{text}\n" for name, text in files.items()})
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    checked = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--diff", tmp_path], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_update_golden_runs_no_comparison() -> None:
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "--collect-only", "--update-golden", "tests/diagnostics"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert collected.returncode == 0, collected.stdout
    assert "tests/diagnostics/test_rules.py" in collected.stdout
    assert "test_completeness.py" not in collected.stdout


def test_added_check_is_reported(copy: Path) -> None:
    blocks = _blocks("add a check")
    checks = "compiler/apportion_compiler/checks/__init__.py"
    _insert(
        copy / checks,
        r"^from apportion_compiler\.checks\.lending_over_guarantee import .*$",
        blocks.pop(checks).strip(),
    )
    _insert(copy / checks, r"^    conflicting_pools,$", "    long_title,")
    _insert(copy / checks, r"^    CONFLICTING_POOLS,$", "    LONG_TITLE,")
    _write(copy, blocks)
    (case,) = (name for name in blocks if name.startswith("tests/diagnostics/"))
    expected = next(number for number, text in enumerate(blocks[case].splitlines(), 1) if "# AP299" in text)
    validated = _apportion(copy, "validate", case, "-o", "json")
    assert f'"line": {expected}' in validated.stdout
    assert "AP299" in validated.stdout
    assert "has 86 characters; lists show 80" in validated.stdout
    headings = re.findall(r"^## .*$", blocks["docs/diagnostics/AP299-long-title.md"], re.MULTILINE)
    neighbour = (ROOT / "docs/diagnostics/AP207-weight-without-surplus.md").read_text(encoding="utf-8")
    assert headings == re.findall(r"^## .*$", neighbour, re.MULTILINE)
