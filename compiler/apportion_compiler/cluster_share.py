"""Scaling of a policy's amounts by a cluster's `share`, and its inverse: the amount to declare."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text

_DEVICE = _CORE = 1000
_MEBIBYTE = 2**20


def share_of(amount: Amount, share: Fraction, resource: str, *, round_up: bool) -> Amount:
    """Return the share of an amount, rounded to whole units: devices if it is declared in whole devices."""
    if isinstance(amount, Unlimited):
        return amount
    unit = _DEVICE if is_gpu(resource) and amount % _DEVICE == 0 else 1
    numerator, denominator = amount * share.numerator, share.denominator * unit
    return (-(-numerator // denominator) if round_up else numerator // denominator) * unit


def is_gpu(resource: str) -> bool:
    """Return whether a resource counts GPUs, of one model or of any."""
    return resource == GPU or resource.startswith(f"{GPU}/")


def guarantee_at_least(amount: int, share: Fraction, resource: str) -> int:
    """Return the smallest declared guarantee whose share, rounded down, is at least an amount."""
    if share == 1:
        return amount
    unit = _written_unit(resource)
    wanted = -(-amount // unit) * unit if is_gpu(resource) else amount
    return -(-wanted * share.denominator // (share.numerator * unit)) * unit


def guarantee_at_most(amount: int, share: Fraction, resource: str) -> int:
    """Return the largest declared guarantee whose share, rounded down, is at most an amount."""
    if share == 1:
        return amount
    unit = _written_unit(resource)
    step = _DEVICE if is_gpu(resource) else 1
    above = (amount // step + 1) * step
    return max(0, -(-above * share.denominator // (share.numerator * unit)) - 1) * unit


def rounding(resource: str, held: Mapping[str, Amount], share: Fraction) -> int:
    """Return the rounding error of the share of a total of GPUs: at most one device for each model."""
    if share == 1 or resource != GPU:
        return 0
    return _DEVICE * sum(1 for other in held if other != GPU and is_gpu(other))


def written_text(resource: str, written: int, share: Fraction, cluster: str) -> str:
    """Return an amount to declare with its value on a cluster: `20 H100, of which prod/hall has 15 H100`."""
    if share == 1:
        return amount_text(resource, written)
    there = amount_text(resource, share_of(written, share, resource, round_up=False))
    return f"{amount_text(resource, written)} ({there} on {cluster}, whose share is {share})"


def _written_unit(resource: str) -> int:
    if is_gpu(resource):
        return _DEVICE
    return {CPU: _CORE, MEMORY: _MEBIBYTE}.get(resource, 1)
