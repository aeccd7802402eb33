"""The program of every stack, configured by `Pulumi.<stack>.yaml` in this directory."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from apportion_compiler.emit.pulumi.program import run

# Paths of the configuration are relative to the folder of `Pulumi.yaml`.
run(datetime.now(UTC).date(), Path(__file__).resolve().parents[1])
