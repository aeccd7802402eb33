"""Every command of docs/pulumi.md, run in order."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .compiled_trees import REPOSITORY
from .kubectl import Kubectl
from .pulumi_stacks import SKIPS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.pulumi,
    pytest.mark.skipif(shutil.which("pulumi") is None, reason=SKIPS),
]

PAGE = REPOSITORY / "docs" / "pulumi.md"


def commands() -> list[str]:
    """Return the commands in the page's console blocks."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_commands_of_the_pulumi_page(kubectl: Kubectl, tmp_path: Path) -> None:
    config = json.loads(kubectl.kubeconfig.read_text())
    config["contexts"] = [{**config["contexts"][0], "name": "dev"}]
    config["current-context"] = "dev"
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    # `kubectl` on the page is that of the control plane.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(kubectl.binary)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "APPORTION_"))}
    script = "\n".join(("set -euo pipefail", *(f"echo {_quoted(f'$ {c}')}\n{c}" for c in commands())))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={
            **kept,
            "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "VIRTUAL_ENV": sys.prefix,
            "KUBECONFIG": str(tmp_path / "kubeconfig"),
            "PULUMI_HOME": str(tmp_path / "home"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    ran = [line.removeprefix("$ ") for line in done.stdout.splitlines() if line.startswith("$ ")]
    assert ran == commands()
    after = dict(_said(done.stdout))
    assert "vision" in after["kubectl --context dev get queues.scheduling.run.ai"]
    assert after["apportion preview dev --plan-only"] == "dev: nothing to do\n"
    assert after["apportion drift dev"] == "dev: no drift\n"
    assert "kai.scheduler/queue" in after["pulumi stack output queues --stack dev"]
    left = kubectl.get("queues.scheduling.run.ai", "--selector=app.kubernetes.io/managed-by=apportion")
    assert left["items"] == []


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _said(text: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))
