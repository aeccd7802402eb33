"""Names of GPU models, such as h100."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

GPU_MODEL_PATTERN = r"^[a-z0-9]([a-z0-9.-]{0,38}[a-z0-9])?$"
GpuModel = Annotated[str, StringConstraints(pattern=GPU_MODEL_PATTERN)]
