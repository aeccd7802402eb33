"""Measurement of whole processes: wall and CPU seconds including children, and the largest peak of memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Measured:
    """A finished process: wall seconds, CPU seconds including its children, exit code, the largest peak of one process in MiB."""

    wall_s: float
    cpu_s: float
    returncode: int
    peak_mib: float


def run(command: Sequence[str]) -> Measured:
    """Run a command, discarding its output."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    return Measured(wall, used.ru_utime + used.ru_stime, process.returncode, used.ru_maxrss / 1024)


def peak_mib(command: Sequence[str]) -> float:
    """Return the peak memory in MiB of a command and all its descendants, as the largest concurrent sum."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(_resident(pid) for pid in _family(process.pid)))
        time.sleep(0.01)
    return peak / 2**20


def cpu_s(pid: int) -> float:
    """Return the seconds of CPU that a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_children_s() -> float:
    """Return the seconds of CPU that the running descendants of this process have used."""
    return sum(cpu_s(pid) for pid in _family(os.getpid())[1:])


def memory_mib(pid: int) -> tuple[float, float]:
    """Return the memory in MiB that a running process uses, and its peak so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return int(sizes["VmRSS"].split()[0]) / 1024, int(sizes["VmHWM"].split()[0]) / 1024


def paired_ratio(first: Callable[[], float], second: Callable[[], float], *, rounds: int) -> float:
    """Return the median of first/second over alternating rounds, so that drift of the machine affects both."""
    return median(first() / second() for _ in range(rounds))


def _family(pid: int) -> list[int]:
    family = [pid]
    for member in family:
        try:
            with open(f"/proc/{member}/task/{member}/children", encoding="ascii") as children:  # noqa: PTH123
                family += [int(child) for child in children.read().split()]
        except OSError:
            continue
    return family


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:  # noqa: PTH123
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
