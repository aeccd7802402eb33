"""The registry of simulated engines, and CONTRIBUTING.md's worked example of adding one, followed literally."""

from __future__ import annotations

import re
import textwrap
from importlib import import_module
from pathlib import Path

import pytest

import apportion_runtime.engines
from apportion_policy.engine import Engine
from apportion_runtime.engines.detection import MODELS
from apportion_runtime.engines.registry import ENGINES
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.reader import read_scenario

ROOT = Path(__file__).parents[3]
SHARED = {"base", "kube_scheduler"}
SCENARIO = """
nodes: [{pool: p, count: 1, gpus: 2, cpu: 8, memory: 8Gi}]
workloads:
  - {name: first, kind: Job, queue: a, gpus: 2, duration: 10m}
  - {name: second, kind: Job, queue: a, at: 1m, gpus: 2, duration: 10m}
"""


def test_engine_folders_are_registered() -> None:
    folder = Path(apportion_runtime.engines.__path__[0])
    rooms = {each.name for each in folder.iterdir() if (each / "__init__.py").exists()}
    assert set(ENGINES) == {model.name for model in MODELS} == rooms - SHARED <= {engine.value for engine in Engine}


def _blocks() -> dict[str, str]:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split("## Worked example: simulate an engine\n")[1].split("\n## ")[0]
    named = re.findall(r"engines/plenum/(\w+\.py)`.*?```python\n(.*?)```", section, re.DOTALL)
    return {name: textwrap.dedent(text) for name, text in named}


def test_worked_example_of_a_simulated_engine_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = _blocks()
    assert blocks.keys() == {"engine.py", "model.py"}
    folder = tmp_path / "plenum"
    folder.mkdir()
    for name, text in {"__init__.py": "", **blocks}.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(apportion_runtime.engines, "__path__", [*apportion_runtime.engines.__path__, str(tmp_path)])
    model = import_module("apportion_runtime.engines.plenum.model").MODEL
    scenario = read_scenario(SCENARIO, lambda name: [], model.workload_labels)
    history = Cluster((), scenario, model).run()
    bound = [(fact.workload, fact.at_s) for fact in history.facts if fact.what == "bound"]
    assert [name for name, _ in bound] == ["first", "second"]
    assert bound[1][1] >= 600.0
