"""The rules by which each engine validates raw manifests; `verdict.py` defines their results."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engine_rules.verdict import EngineRules
from apportion_compiler.engines.registry import EngineParts, engine_parts

ENGINE_RULES: Mapping[str, EngineRules] = EngineParts(engine_parts("rules", "RULES"))
"""Rules by the engine's name."""
