"""Every exact feature is verified by a test that exists: see evidence.yaml and docs/fidelity.md."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_cli.fidelity_evidence import EVIDENCE, RECORDING, Kind, Verification, read_evidence
from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Backend, Capability, Feature, Lowered, Native, Unsupported

ROOT = Path(__file__).parents[2]
FOUND = read_evidence(ROOT)
FOLDERS = {
    Kind.DECISIONS: "tests/conformance/",
    Kind.DEQUEUING: "tests/conformance/test_ack_random.py",
    Kind.PROPERTY: "tests/property/",
    Kind.SERVER: "tests/e2e/",
}
EVERY_BACKEND = pytest.mark.parametrize("backend", BACKENDS.values(), ids=lambda backend: backend.name)


@cache
def _functions(file: Path) -> set[str]:
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("verification", [pytest.param(each, id=name) for name, each in FOUND.tests.items()])
def test_named_test_exists(verification: Verification) -> None:
    file, _, function = verification.test.partition("::")
    assert function in _functions(ROOT / file)
    assert file.startswith(FOLDERS[verification.kind])


def test_every_named_test_verifies_a_cell() -> None:
    assert {name for row in FOUND.cells.values() for names in row.values() for name in names} == set(FOUND.tests)


def _is_exact(capability: Capability) -> bool:
    return isinstance(capability, Native) or (isinstance(capability, Lowered) and not capability.approximation)


def _entry(section: str, backend: Backend) -> Any:
    rows = yaml.safe_load((ROOT / EVIDENCE).read_text(encoding="utf-8"))[section]
    assert backend.name in rows, f"{EVIDENCE}: `{section}` has no entry `{backend.name}`"
    return rows[backend.name]


@EVERY_BACKEND
def test_every_exact_feature_has_evidence(backend: Backend) -> None:
    objects_only = set(
        yaml.safe_load((ROOT / EVIDENCE).read_text(encoding="utf-8"))["objects_only"].get(backend.name, {})
    )
    unverified = {
        feature.value
        for feature, capability in backend.capabilities.items()
        if _is_exact(capability) and not FOUND.kinds(backend.name, feature)
    }
    assert unverified == objects_only, f"{EVIDENCE}: `objects_only` of {backend.name} differs"


@EVERY_BACKEND
def test_refused_features_have_no_evidence(backend: Backend) -> None:
    refused = {feature for feature, made in backend.capabilities.items() if isinstance(made, Unsupported)}
    assert not refused & {Feature(name) for name in _entry("cells", backend)}


@EVERY_BACKEND
def test_recordings_list_their_files(backend: Backend) -> None:
    for name in _entry("versions", backend)["recordings"]:
        folder = ROOT / "tests/conformance" / name
        recorded = yaml.safe_load((folder / RECORDING).read_text(encoding="utf-8"))
        assert {file.name for file in folder.glob("*.jsonl*")} == set(recorded)


@EVERY_BACKEND
def test_source_has_the_commit_of_the_definitions(backend: Backend) -> None:
    commit = _entry("versions", backend)["source"].get("commit")
    rows = (ROOT / "tests/crds/README.md").read_text(encoding="utf-8").splitlines()
    assert commit is None or any(f"`{backend.name}/" in row and f"| {commit}," in row for row in rows), (
        f"tests/crds/README.md: no definition of {backend.name} is from commit {commit}"
    )


@pytest.mark.parametrize(("engine", "module"), [("kueue", "sigs.k8s.io/kueue"), ("native", "k8s.io/kubernetes")])
def test_server_has_the_version_that_e2e_builds(engine: str, module: str) -> None:
    folder = {"kueue": "kueue", "native": "kubernetes"}[engine]
    required = (ROOT / f"tests/e2e/{folder}/go.mod").read_text(encoding="utf-8")
    assert re.findall(rf"^\s*{module} (\S+)", required, re.MULTILINE) == [FOUND.versions[engine].server]
