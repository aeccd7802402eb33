"""The compiler at full size, as ratios within one run. `make bench` prints them; `docs/performance.md` keeps them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import yaml

from .conftest import BenchSize
from .organisation import EVERY_ENGINE, write_organisation
from .process import paired_ratio, peak_mib, run

pytestmark = pytest.mark.bench

APPORTION = [str(Path(sys.executable).with_name("apportion"))]
PEAK_MIB = 600
EVERY_ENGINE_RATIO = 0.5
EVERY_ENGINE_PEAK_MIB = 400
ROUNDS = 5


@pytest.fixture(scope="module")
def organisation(tmp_path_factory: pytest.TempPathFactory, bench_size: BenchSize) -> Path:
    return write_organisation(
        tmp_path_factory.mktemp("organisation"),
        departments=bench_size.n_departments,
        leaves=bench_size.n_leaf_queues,
        pools=bench_size.n_pools,
    )


@pytest.fixture(scope="module")
def rendered(organisation: Path) -> Path:
    out = organisation.parent / "rendered"
    subprocess.run([*APPORTION, "compile", str(organisation), "--target", "kai", "--out", str(out)], check=True)
    return out


@pytest.fixture(scope="module")
def documents(rendered: Path) -> list[Any]:
    loader = yaml.CSafeLoader
    return [d for file in sorted(rendered.rglob("*.yaml")) for d in yaml.load_all(file.read_bytes(), Loader=loader)]


def _dump(documents: list[Any]) -> float:
    started = time.process_time()
    yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False)
    return time.process_time() - started


def _report(name: str, value: float, bound: float | None, unit: str = "x") -> None:
    print(f"\n{name}: {value:.2f} {unit}" + ("" if bound is None else f" (at most {bound:g})"))


def test_validate(organisation: Path, documents: list[Any], bench_size: BenchSize) -> None:
    """The full command, both processes, compared with PyYAML's C dumper on the output of `compile --target kai`."""
    command = [*APPORTION, "validate", str(organisation)]
    assert run(command).returncode == 0
    cpu = paired_ratio(lambda: run(command).cpu_s, lambda: _dump(documents), rounds=ROUNDS)
    _report("validate, CPU of both processes / dump", cpu, 1)
    wall = paired_ratio(lambda: run(command).wall_s, lambda: _dump(documents), rounds=ROUNDS)
    _report("validate, wall / dump", wall, 1)
    if bench_size.judged:
        assert wall < 1


def test_compile_to_disk(organisation: Path, documents: list[Any], tmp_path: Path, bench_size: BenchSize) -> None:
    def compile_afresh() -> float:
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        return run([*APPORTION, "compile", str(organisation), "--target", "kai", "--out", str(out)]).wall_s

    ratio = paired_ratio(compile_afresh, lambda: _dump(documents), rounds=ROUNDS)
    _report("compile --target kai to disk, wall / dump", ratio, 2)
    if bench_size.judged:
        assert ratio <= 2


@pytest.mark.skipif(
    shutil.which("kubectl") is None,
    reason="`kubectl` is not on PATH: the time of `kubectl kustomize` cannot be compared",
)
def test_compile_and_kubectl_kustomize(
    organisation: Path, rendered: Path, tmp_path: Path, bench_size: BenchSize
) -> None:
    tree = next(rendered.rglob("kustomization.yaml")).parent
    kustomize = run(["kubectl", "kustomize", str(tree)])
    assert kustomize.returncode == 0
    compiled = run([*APPORTION, "compile", str(organisation), "--target", "kai", "--out", str(tmp_path / "out")])
    _report("compile --target kai to disk / kubectl kustomize", compiled.wall_s / kustomize.wall_s, 1)
    if bench_size.judged:
        assert compiled.wall_s < kustomize.wall_s


@pytest.mark.parametrize("verb", ["validate", "compile"])
def test_peak_memory(organisation: Path, tmp_path: Path, bench_size: BenchSize, verb: str) -> None:
    command = [*APPORTION, verb, str(organisation)]
    command += ["--target", "kai", "--out", str(tmp_path / "out")] if verb == "compile" else []
    peak = peak_mib(command)
    _report(f"{verb}: peak memory of all its processes together", peak, PEAK_MIB, "MiB")
    if bench_size.judged:
        assert peak < PEAK_MIB


def test_validate_100_queues(tmp_path: Path, bench_size: BenchSize) -> None:
    """Process start and child process included, compared with importing pydantic and networkx."""
    policy = write_organisation(tmp_path, departments=10, leaves=90, pools=4)
    command = [*APPORTION, "validate", str(policy)]
    assert run(command).returncode == 0
    imports = [sys.executable, "-c", "import pydantic, networkx"]
    ratio = paired_ratio(lambda: run(command).wall_s, lambda: run(imports).wall_s, rounds=4 * ROUNDS)
    _report("validate of 100 queues, wall / import pydantic, networkx", ratio, 3)
    if bench_size.judged:
        assert ratio <= 3


def test_help_imports_no_heavy_module() -> None:
    probe = "import sys, json; from apportion_cli.main import main; main(['--help']); print(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    modules = set(json.loads(shown.stdout.splitlines()[-1]))
    assert not modules & {"pydantic", "networkx", "numpy", "pulumi"}


_EVERY_ENGINE = """
import gc, json, resource, runpy, sys, time
from datetime import date
import yaml
from apportion_compiler.compile import compile_policy
from apportion_compiler.emit.tree import render_target
from apportion_compiler.targets import targets_of

policy = runpy.run_path(sys.argv[1])["policy"]
# As the command does.
gc.disable()
started = time.process_time()
compiled = compile_policy(policy, targets_of(policy), date(2026, 11, 21))
emitted = time.process_time()
for target, output in compiled.outputs.items():
    render_target(output, {"target": target.backend})
rendered = time.process_time()
documents = [{**manifest, "metadata": dict(manifest["metadata"])} for output in compiled.outputs.values() for manifest in output.manifests]
dumping = time.process_time()
yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False)
dump = time.process_time() - dumping
print(json.dumps({
    "engines": sorted({target.backend for target in compiled.outputs}),
    "documents": len(documents),
    "compile": (emitted - started) / dump,
    "all": (rendered - started) / dump,
    "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def test_compile_every_engine(tmp_path: Path, bench_size: BenchSize) -> None:
    """Checks, all seven engines with their plain objects, and their trees' bytes, compared with one dump of them."""
    policy = write_organisation(
        tmp_path,
        departments=bench_size.n_departments,
        leaves=bench_size.n_leaf_queues,
        pools=bench_size.n_pools,
        clusters=EVERY_ENGINE,
    )
    command = [sys.executable, "-c", _EVERY_ENGINE, str(policy)]
    rounds = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(3 if bench_size.judged else 1)
    ]
    assert rounds[0]["engines"] == sorted(engine for _, engine, _ in EVERY_ENGINE)
    compiled, everything, peak = (median(run[key] for run in rounds) for key in ("compile", "all", "mib"))
    _report("compile_policy for seven engines, CPU / dump", compiled, None)
    _report("the same and every tree's bytes, CPU / dump", everything, EVERY_ENGINE_RATIO)
    _report(f"{rounds[0]['documents']} objects of seven engines: peak memory", peak, None, "MiB")
    peak = peak_mib([*APPORTION, "compile", str(policy), "--out", str(tmp_path / "out")])
    _report("compile to disk for seven engines: peak memory of all its processes", peak, EVERY_ENGINE_PEAK_MIB, "MiB")
    if bench_size.judged:
        assert everything <= EVERY_ENGINE_RATIO
        assert peak <= EVERY_ENGINE_PEAK_MIB
