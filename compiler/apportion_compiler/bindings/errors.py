"""The reason why a workload cannot be bound to a queue as requested."""

from __future__ import annotations

from apportion_compiler.errors import ApportionCompilerError


class BindingError(ApportionCompilerError):
    """A request that cannot be satisfied: one clause without a full stop that names a valid alternative.

    `index` is the index of the manifest, if there is more than one.
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index
