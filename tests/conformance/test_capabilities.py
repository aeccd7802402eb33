"""Each backend's table has every feature, and every refusal has a rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion_compiler.backends import BACKENDS, COMPANIONS
from apportion_compiler.backends.capability import Backend, Feature, Lowered, Native, Unsupported
from apportion_compiler.checks.refusals import REFUSALS
from apportion_compiler.fidelity import USED, feature_lines
from apportion_policy.engine import Engine

GOLDEN = Path(__file__).parent.parent / "golden"
OF_SINGLE_POLICIES = {"AP514", "AP518", "AP519", "AP520", "AP618"}
"""Codes that are not required in a table: a backend's `refusals` yields them for single policies."""

EVERY_BACKEND = pytest.mark.parametrize("backend", BACKENDS.values(), ids=lambda backend: backend.name)


@EVERY_BACKEND
def test_every_feature_has_a_capability(backend: Backend) -> None:
    assert set(backend.capabilities) == set(Feature)


def test_every_feature_is_detected() -> None:
    assert set(USED) == set(Feature)


@EVERY_BACKEND
def test_refusals_have_rules_and_reasons(backend: Backend) -> None:
    for feature, capability in backend.capabilities.items():
        match capability:
            case Unsupported(code, reason, hint):
                assert code in REFUSALS, feature
                assert reason, feature
                assert hint[:1].islower(), feature
                assert not (reason + hint).endswith("."), feature
            case Native(said) | Lowered(said, _):
                assert said, feature


def _golden_tree(backend: str) -> Path:
    trees = sorted(GOLDEN.glob(f"{backend}-*/expected/{backend}"))
    assert trees, f"{backend} has no golden case: add tests/golden/{backend}-<case>/policy.py and run `make golden`"
    return trees[0]


def test_engine_without_golden_case_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"nomad has no golden case: add tests/golden/nomad-"):
        _golden_tree("nomad")


@EVERY_BACKEND
def test_required_files_are_emitted(backend: Backend) -> None:
    """A condition on a file that is not part of the output could never be satisfied."""
    written = {file.name for file in _golden_tree(backend.name).iterdir()}
    assert {condition.file for condition in backend.conditions} <= written
    for condition in backend.conditions:
        assert not any(isinstance(backend.capabilities[feature], Unsupported) for feature in condition.features)


@pytest.mark.parametrize(
    ("engine", "feature", "verdict", "said"),
    [
        (
            "kai",
            Feature.GPU_SHARING,
            "exact",
            "provided that values.yaml is merged into KAI's Helm values",
        ),
        ("kai", Feature.NAMESPACES, "exact", "kuberay-values.yaml is merged into KubeRay's Helm values"),
        (
            "kueue",
            Feature.OVER_QUOTA_WEIGHT,
            "exact",
            "controller_manager_config.yaml is merged into Kueue's manager configuration",
        ),
        ("kueue", Feature.PLACEMENT, "approximated", "kube-scheduler.yaml is passed to kube-scheduler as --config"),
        ("volcano", Feature.GUARANTEED, "approximated", "values.yaml is merged into Volcano's Helm values"),
        ("koordinator", Feature.LIMIT, "exact", "koord-scheduler-config.yaml is applied after each upgrade"),
        ("ack", Feature.GUARANTEED, "approximated", "components.yaml is configured in the ACK console"),
        ("yunikorn", Feature.NAMESPACES, "exact", "values.yaml is merged into YuniKorn's Helm values"),
        ("native", Feature.PLACEMENT, "approximated", "kube-scheduler.yaml is passed to kube-scheduler as --config"),
        ("kai", Feature.LIMIT, "exact", None),
    ],
)
def test_verdict_lists_required_files(engine: str, feature: Feature, verdict: str, said: str | None) -> None:
    (line,) = (line for line in feature_lines(BACKENDS[engine], (feature,)))
    assert line.verdict == verdict
    assert (said in line.text) if said is not None else "provided" not in line.text


def test_every_refusal_is_used() -> None:
    used = {c.code for b in BACKENDS.values() for c in b.capabilities.values() if isinstance(c, Unsupported)}
    assert used <= set(REFUSALS)
    assert set(REFUSALS) - used <= OF_SINGLE_POLICIES


def test_backend_names() -> None:
    assert all(name == backend.name for name, backend in BACKENDS.items())
    assert set(BACKENDS) <= {engine.value for engine in Engine}


def test_companion_names() -> None:
    assert all(name == companion.name for name, companion in COMPANIONS.items())
    assert not set(COMPANIONS) & {engine.value for engine in Engine}
