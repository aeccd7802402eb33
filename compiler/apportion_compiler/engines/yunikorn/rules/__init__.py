"""YuniKorn's own checks of its configuration, and what it takes and then passes over.

`queues.yaml` is refused as a whole, at its first fault; then the scheduler goes on with the former one, and nothing
but its log and the admission controller, if that is installed, says so.
"""

from __future__ import annotations

from apportion_compiler.engine_rules.verdict import EngineRules
from apportion_compiler.engines.yunikorn.rules.manifests import check

RULES = EngineRules("yunikorn", check)
