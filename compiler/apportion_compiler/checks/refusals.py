"""AP5xx: what a backend cannot express. `fidelity.py` makes the findings; the rules are named here."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.diagnostics.diagnostic import Rule

REFUSALS: Mapping[str, Rule] = {}
