"""Each backend's table speaks of every feature, and what it refuses is a rule."""

from __future__ import annotations

import pytest

from apportion_compiler.backends import BACKENDS, COMPANIONS
from apportion_compiler.backends.capability import Backend, Feature, Lowered, Native, Unsupported
from apportion_compiler.checks.refusals import REFUSALS
from apportion_compiler.fidelity import USED
from apportion_policy.cluster import Engine

OF_SINGLE_POLICIES = {"AP514", "AP518", "AP519", "AP520"}
"""Codes that no table need have: a backend's `refusals` yields them, of what one policy asks."""

EVERY_BACKEND = pytest.mark.parametrize("backend", BACKENDS.values(), ids=lambda backend: backend.name)


@EVERY_BACKEND
def test_table_has_every_feature(backend: Backend) -> None:
    assert set(backend.capabilities) == set(Feature)


def test_every_feature_is_found_in_programs() -> None:
    assert set(USED) == set(Feature)


@EVERY_BACKEND
def test_refusals_have_a_rule_and_a_reason(backend: Backend) -> None:
    for feature, capability in backend.capabilities.items():
        match capability:
            case Unsupported(code, reason, hint):
                assert code in REFUSALS, feature
                assert reason, feature
                assert hint[:1].islower(), feature
                assert not (reason + hint).endswith("."), feature
            case Native(said) | Lowered(said, _):
                assert said, feature


def test_every_refusal_is_used() -> None:
    used = {c.code for b in BACKENDS.values() for c in b.capabilities.values() if isinstance(c, Unsupported)}
    assert used <= set(REFUSALS)
    assert set(REFUSALS) - used <= OF_SINGLE_POLICIES


def test_backends_are_named_as_the_engines() -> None:
    assert all(name == backend.name for name, backend in BACKENDS.items())
    assert set(BACKENDS) <= {engine.value for engine in Engine}


def test_companions_are_named_as_no_engine() -> None:
    assert all(name == companion.name for name, companion in COMPANIONS.items())
    assert not set(COMPANIONS) & {engine.value for engine in Engine}
