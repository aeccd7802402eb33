"""Exceptions of the authoring package.

Raised for broken *use of the API* and for documents that cannot be read. A fault in a policy is not an
exception: it becomes a finding, and findings are data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apportion_policy.evaluation.fault import Fault


class ApportionPolicyError(Exception):
    """Root of every exception that this package raises on purpose."""


class QuantityError(ApportionPolicyError, ValueError):
    """Text that is not a quantity, or a quantity its unit cannot hold exactly."""


class CollectError(ApportionPolicyError):
    """A folder or module given to `collect` that holds nothing to collect."""


class ConfinementError(ApportionPolicyError):
    """A policy that was not run, because this system cannot confine it: one clause without a full stop.

    Attributes:
        hint: What to do about it.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class AgreementError(ApportionPolicyError):
    """What the caller agrees to names what cannot be a namespace, an environment or a cluster."""


class DocumentFault(ApportionPolicyError):
    """A YAML or JSON document that is not a policy; carries every fault found in it."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults
