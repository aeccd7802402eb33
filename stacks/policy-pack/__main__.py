"""The policy pack of every stack; `apportion:enforcement` in `Pulumi.<stack>.yaml` sets its strictness."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from apportion_compiler.emit.pulumi.policy_pack import serve

serve(datetime.now(UTC).date(), Path(__file__).resolve().parents[2])
