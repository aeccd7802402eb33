"""One module or folder for each engine: what it would say of raw manifests. `verdict.py` says what comes back."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engine_rules import ack, kai, koordinator, kueue, native, volcano, yunikorn
from apportion_compiler.engine_rules.verdict import EngineRules

ENGINE_RULES: Mapping[str, EngineRules] = {
    "ack": ack.RULES,
    "kai": kai.RULES,
    "koordinator": koordinator.RULES,
    "kueue": kueue.RULES,
    "native": native.RULES,
    "volcano": volcano.RULES,
    "yunikorn": yunikorn.RULES,
}
"""Rules by the engine's name."""
