"""Workloads as written by `apportion bind`, run as by a user."""

from __future__ import annotations

from pathlib import Path

import yaml

from .command_line import apportion
from .kubectl import Object


def bind(policy: Path, environment: str, queue: str, *options: str) -> str:
    """Return the output of the command."""
    return apportion("bind", queue, "--policy", policy, "--env", environment, *options)


def bound_job(policy: Path, environment: str, queue: str, *options: str) -> Object:
    """Return the single Job in the output of the command."""
    (job,) = yaml.safe_load_all(bind(policy, environment, queue, "--kind", "Job", *options))
    return dict(job)
