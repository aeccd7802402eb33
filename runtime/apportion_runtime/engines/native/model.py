"""How a simulation creates a plain Kubernetes cluster. No object identifies one: every cluster has the same kinds."""

from __future__ import annotations

from apportion_api.kubernetes.names import TITLE
from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.native.engine import Native

MODEL = Model("native", TITLE, lambda made: False, made_by=Native)
