"""Why a workload cannot be put into a queue as it was asked for."""

from __future__ import annotations

from apportion_compiler.errors import ApportionCompilerError


class BindingError(ApportionCompilerError):
    """What was asked for cannot be done: one clause without a full stop that names what to write instead.

    `index` is the manifest's that it is about, where there are several.
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index
