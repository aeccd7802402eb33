"""Workloads as written by `apportion bind`, run as by a user."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

from .kubectl import Object
from .rendered import REPOSITORY


def bind(policy: Path, environment: str, queue: str, *options: str) -> str:
    """Return the output of the command."""
    command = [Path(sys.executable).with_name("apportion"), "bind", queue, "--policy", policy, "--env", environment]
    done = subprocess.run([*command, *options], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bound_job(policy: Path, environment: str, queue: str, *options: str) -> Object:
    """Return the single Job in the output of the command."""
    (job,) = yaml.safe_load_all(bind(policy, environment, queue, "--kind", "Job", *options))
    return dict(job)
