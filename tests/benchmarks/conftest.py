"""Shared fixtures of benchmarks: whether this run measures, or only verifies that each benchmark still works."""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class BenchSize:
    """The input size of a benchmark, and whether its ratios and peaks are asserted."""

    n_departments: int
    n_leaf_queues: int
    n_pools: int
    judged: bool


FULL = BenchSize(n_departments=1_000, n_leaf_queues=10_000, n_pools=20, judged=True)
SMOKE = BenchSize(n_departments=5, n_leaf_queues=50, n_pools=4, judged=False)


@pytest.fixture(scope="session")
def bench_size(request: pytest.FixtureRequest) -> BenchSize:
    """`FULL`, or `SMOKE` under `--bench-smoke`; assert ratios only where `judged`."""
    return SMOKE if request.config.getoption("--bench-smoke") else FULL
