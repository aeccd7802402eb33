"""Computes a size; declares nothing."""

from apportion_policy import Resources


def half(gpus: int) -> Resources:
    """Return half of a number of GPUs."""
    return Resources(gpu=gpus // 2)
