"""Exceptions of the compiler: misuse of its API. A fault in a policy is a diagnostic, never an exception."""

from __future__ import annotations


class ApportionCompilerError(Exception):
    """Base class of the exceptions of this package."""


class UnknownTargetError(ApportionCompilerError):
    """A target or an environment that the policy or this version does not have."""


class UnwritableError(ApportionCompilerError):
    """The imported objects cannot be represented by a policy: one clause."""
