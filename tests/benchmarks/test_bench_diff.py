"""The cost of comparing two policies, relative to validating one of them and in seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import pytest

from apportion_cli.exit_codes import ExitCode

from .conftest import BenchSize
from .organisation import write_organisation
from .process import paired_ratio, run

pytestmark = pytest.mark.bench

APPORTION = [str(Path(sys.executable).with_name("apportion"))]
ROUNDS = 5
RATIO = 4
WALL_S = 1


def test_diff_of_500_queues(tmp_path: Path, bench_size: BenchSize) -> None:
    """Every guarantee changes, so that everything is compared, stated and compiled on both sides."""
    leaves = 480 if bench_size.judged else 48
    base = write_organisation(tmp_path / "base", departments=leaves // 24, leaves=leaves, pools=10)
    head = write_organisation(tmp_path / "head", departments=leaves // 24, leaves=leaves, pools=10)
    head.write_text(head.read_text().replace("gpu=8)", "gpu=7)"))
    compare = [*APPORTION, "diff", str(base), str(head)]
    validate = [*APPORTION, "validate", str(base)]
    assert run(compare).returncode == ExitCode.CHANGES
    ratio = paired_ratio(lambda: run(compare).cpu_s, lambda: run(validate).cpu_s, rounds=ROUNDS)
    wall = median(run(compare).wall_s for _ in range(ROUNDS))
    print(f"\ndiff of {leaves + leaves // 24} queues, CPU / validate: {ratio:.2f} x (at most {RATIO})")
    print(f"diff of {leaves + leaves // 24} queues: {wall:.2f} s (at most {WALL_S})")
    if bench_size.judged:
        assert ratio <= RATIO
        assert wall <= WALL_S
