"""YuniKorn's own checks of its configuration, and settings that it ignores.

`queues.yaml` is rejected as a whole at its first fault; the scheduler then keeps the previous one, and only its log and
the admission controller, if installed, report it.
"""

from __future__ import annotations

from apportion_compiler.engine_rules.verdict import EngineRules
from apportion_compiler.engines.yunikorn.rules.manifests import check

RULES = EngineRules("yunikorn", check)
