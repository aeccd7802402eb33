"""`apportion scheduler` as a process that a test pauses, kills and reads the log of."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STOP_S = 120


@dataclass(slots=True)
class Scheduler:
    """A running scheduler."""

    process: subprocess.Popen[bytes]
    log: Path
    read_to: int = 0
    """How much of the log earlier tests have read."""

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        """Return what the log says since `forget`."""
        return self.log.read_text()[self.read_to :]

    def forget(self) -> None:
        self.read_to = len(self.log.read_text())

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def scheduler(
    kubeconfig: Path, folder: Path, name: str, settings: Mapping[str, Any], *, start: str = ""
) -> Iterator[Scheduler]:
    """Run a scheduler; one that still runs at the end of the block must end with 0 when it is asked to.

    Args:
        kubeconfig: Its kubeconfig.
        folder: Where its configuration and log are written.
        name: The name of these files.
        settings: Fields of its configuration.
        start: Python statements that the process runs first.
    """
    configuration, log = folder / f"{name}.yaml", folder / f"{name}.log"
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "SchedulerConfiguration",
        "kubeconfig": str(kubeconfig),
        "port": 0,
        "cyclePeriodSeconds": 0.2,
        **settings,
    }
    configuration.write_text(json.dumps(document))
    program = f"{start}\nfrom apportion_cli.main import main\nmain()"
    # On SIGABRT, the stack of each thread is written to the log.
    command = [sys.executable, "-X", "faulthandler", "-c", program, "scheduler", "--config", str(configuration)]
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, env={"PATH": os.defpath})
    try:
        yield Scheduler(process, log)
    finally:
        process.send_signal(signal.SIGCONT)
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
            if process.poll() is None:
                process.send_signal(signal.SIGABRT)
                process.wait()
            assert process.returncode == 0, log.read_text()
