"""Recognition of Apache YuniKorn, which is not simulated."""

from __future__ import annotations

from apportion_api.yunikorn.names import CONFIG_MAP, DEFAULTS_CONFIG_MAP
from apportion_runtime.admission.objects import kind_of, name_of
from apportion_runtime.engines.base.model import Model

_CONFIG_MAPS = (CONFIG_MAP, DEFAULTS_CONFIG_MAP)

MODEL = Model(
    "yunikorn", "Apache YuniKorn", lambda made: kind_of(made) == ("", "ConfigMap") and name_of(made) in _CONFIG_MAPS
)
