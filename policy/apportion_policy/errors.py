"""Exceptions of the authoring package.

Exceptions report misuse of the API and documents that cannot be read. A fault in a policy is not an exception
but a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apportion_policy.evaluation.fault import Fault


class ApportionPolicyError(Exception):
    """Base class of the exceptions of this package."""


class QuantityError(ApportionPolicyError, ValueError):
    """Invalid quantity, or a quantity more precise than its unit."""


class CollectError(ApportionPolicyError):
    """`collect` cannot read a folder, or a file in it has no declarations of the requested type."""


class ConfinementError(ApportionPolicyError):
    """The policy was not evaluated, because the system cannot confine it; the message is one clause without a full stop.

    Attributes:
        hint: A remedy.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class AgreementError(ApportionPolicyError):
    """A permission of the caller contains an invalid namespace, environment or cluster name."""


class DocumentFault(ApportionPolicyError):
    """A YAML or JSON document that is not a policy, with all faults found in it."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults
