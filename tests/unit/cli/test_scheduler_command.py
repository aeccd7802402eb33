"""`apportion scheduler` where it cannot start: one sentence with the cure, and exit code 3."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_without_a_kubeconfig_it_says_which_file_it_looked_for(run: Run, tmp_path: Path) -> None:
    told = run("scheduler", "--kubeconfig", tmp_path / "nothing")
    assert told.code == 3
    assert f"kubeconfig {tmp_path / 'nothing'} does not exist" in told.err
    assert "--kubeconfig" in told.err


def test_without_the_kubernetes_client_it_says_how_it_is_installed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    told = run("scheduler")
    assert told.code == 3
    assert "the Kubernetes client is not installed" in told.err
    assert "pip install 'apportion[kube]'" in told.err
