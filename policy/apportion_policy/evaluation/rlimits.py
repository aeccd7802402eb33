"""Irrevocable resource limits of the child process: soft and hard limits are equal, unless a warning comes first."""

from __future__ import annotations

import errno
import resource
import sys

from apportion_policy.evaluation.limits import Limits


def limit_memory(limits: Limits) -> None:
    """Limit the address space. Raises `OSError` if the system does not support it (macOS ignores the limit)."""
    if sys.platform != "linux":
        raise OSError(errno.EOPNOTSUPP, "the system does not support address space limits")
    _lower(resource.RLIMIT_AS, limits.memory_bytes)


def limit_resources(limits: Limits) -> None:
    """Limit processor time, processes, files and their size. Raises `OSError` if the system denies it."""
    # SIGXCPU at the soft limit reports the line; the hard limit kills a policy that ignores the signal.
    _lower(resource.RLIMIT_CPU, limits.cpu_s, hard=limits.cpu_s + 1)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    # Not enforced for root, whose processes seccomp prevents.
    _lower(resource.RLIMIT_NPROC, 0)


def _lower(kind: int, soft: int, *, hard: int | None = None) -> None:
    present = resource.getrlimit(kind)[1]
    wanted = soft if hard is None else hard
    ceiling = wanted if present == resource.RLIM_INFINITY else min(wanted, present)
    resource.setrlimit(kind, (min(soft, ceiling), ceiling))
