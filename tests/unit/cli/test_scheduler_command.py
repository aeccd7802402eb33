"""`apportion scheduler` if it cannot start: one sentence with the remedy, and exit code 3."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]


def test_missing_kubeconfig_is_named(run: Run, tmp_path: Path) -> None:
    told = run("scheduler", "--kubeconfig", tmp_path / "nothing")
    assert told.code == 3
    assert f"kubeconfig {tmp_path / 'nothing'} does not exist" in told.err
    assert "--kubeconfig" in told.err


def test_missing_client_names_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    told = run("scheduler")
    assert told.code == 3
    assert "the Kubernetes client is not installed" in told.err
    assert "pip install 'apportion[kube]'" in told.err


def test_dashboard_and_alert_rules_are_written_without_the_client(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    told = run("scheduler", "--write-monitoring", tmp_path / "monitoring")
    assert told.code == 0
    names = ["apportion-scheduler-dashboard.json", "apportion-scheduler-alerts.yaml"]
    assert told.out.splitlines() == [f"wrote {tmp_path / 'monitoring' / name}" for name in names]
    assert json.loads((tmp_path / "monitoring" / names[0]).read_text())["title"] == "Apportion scheduler"
    assert yaml.safe_load((tmp_path / "monitoring" / names[1]).read_text())["groups"]
