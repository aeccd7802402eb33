"""A user's stack: a folder with Pulumi.yaml and a policy, commands run in it, and the writes to the cluster."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .compiled_trees import POLICIES, REPOSITORY
from .kubectl import Kubectl, Object

SKIPS = "`pulumi` is not on PATH (https://www.pulumi.com/docs/install/): no stack is tested with Pulumi's engine"
DAY = "2026-01-01"
_LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit code and the output of a command."""

    code: int
    out: str
    said: str

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Stack:
    """A project with one stack, whose only cluster is accessed by the configuration of `kubectl`."""

    folder: Path
    name: str
    kubectl: Kubectl
    variables: dict[str, str] = field(default_factory=dict)

    def write(self, state: str, **config: object) -> None:
        """Write a state of the policy, and further configuration of the stack."""
        (self.folder / "policy" / "change.py").write_text(f'STATE = "{state}"\n')
        own = {
            "policy": "policy",
            "environment": self.name,
            "asOf": DAY,
            # Tests delete all their objects; the default retention of namespaces is tested without a cluster.
            "deleteNamespaces": "true",
            "clusters": {"one": {"kubeconfig": str(self.kubectl.kubeconfig)}},
            **config,
        }
        values = {"config": {f"apportion:{key}": value for key, value in own.items()}}
        # JSON is valid YAML.
        (self.folder / "stacks" / f"Pulumi.{self.name}.yaml").write_text(json.dumps(values))

    def run(self, verb: str, *arguments: str) -> Ran:
        """Run a command of apportion for the stack, without a terminal."""
        done = subprocess.run(
            [_program("apportion"), verb, self.name, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def answer(self, *arguments: str, with_: str) -> Ran:
        """Run a command at a terminal, with the same answer to every prompt."""
        terminal, own = pty.openpty()
        with subprocess.Popen(
            [_program("apportion"), *arguments[:1], self.name, *arguments[1:]],
            cwd=self.folder,
            env={**self.environment, "CI": "true"},
            stdin=own,
            stdout=own,
            stderr=own,
        ) as process:
            os.close(own)
            said = _talk(terminal, process, with_)
        return Ran(process.returncode, "", said)

    def pulumi(self, *arguments: str) -> Ran:
        """Run Pulumi itself in the project, with the state of `apportion`."""
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.folder,
            env={
                **self.environment,
                "PULUMI_BACKEND_URL": f"file://{self.folder / '.pulumi-state'}",
                "PULUMI_CONFIG_PASSPHRASE": "",
            },
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the commands: a separate Pulumi home, and no account."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "APPORTION_"))}
        return {
            **kept,
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PYTHONPATH": str(self.folder / "stacks"),
            **self.variables,
        }


def project_in(folder: Path, name: str, kubectl: Kubectl) -> Stack:
    """Write a project as `apportion init --pulumi` does, for a policy on one cluster of any engine."""
    shutil.copytree(POLICIES / "every-engine", folder / "policy", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPOSITORY / "stacks", folder / "stacks", ignore=shutil.ignore_patterns("Pulumi.*.yaml"))
    runtime = {"name": "python", "options": {"virtualenv": sys.prefix}}
    project = {"name": "apportion", "runtime": runtime, "main": "stacks", "stackConfigDir": "stacks"}
    (folder / "Pulumi.yaml").write_text(json.dumps(project))
    pack = folder / "stacks" / "policy-pack" / "PulumiPolicy.yaml"
    pack.write_text(json.dumps({"name": "apportion", "runtime": runtime}))
    (folder / "apportion.toml").write_text("")
    return Stack(folder, name, kubectl)


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _talk(terminal: int, process: subprocess.Popen[bytes], answer: str) -> str:
    """Answer every prompt until the process ends, and return its output."""
    said, asked = "", 0
    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            try:
                chunk = os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
            said += chunk
            if said.count("[y/N]:") > asked:
                asked = said.count("[y/N]:")
                os.write(terminal, f"{answer}\n".encode())
        elif process.poll() is not None:
            break
    os.close(terminal)
    assert process.wait(timeout=30) is not None
    return said


@contextlib.contextmanager
def watched(kubectl: Kubectl, resource: str, seen: list[tuple[str, Object]]) -> Iterator[None]:
    """Record every write to a resource during the block, in the API server's order."""
    since = kubectl.get(resource, "--all-namespaces")["metadata"]["resourceVersion"]
    command = [kubectl.binary, "get", "--raw", f"/apis/{_collection(resource)}?watch=1&resourceVersion={since}"]
    own = {"KUBECONFIG": str(kubectl.kubeconfig), "HOME": str(kubectl.kubeconfig.parent), "PATH": os.defpath}
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, text=True) as watch:
        told = watch.stdout
        assert told is not None

        def read() -> None:
            for line in told:
                event = json.loads(line)
                seen.append((event["type"], event["object"]))

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
            # The watch receives the last write shortly after it.
            _settle(seen)
        finally:
            watch.terminate()
            reader.join(timeout=10)


def _settle(seen: Sequence[object]) -> None:
    n_seen, since = len(seen), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.1)
        if len(seen) != n_seen:
            n_seen, since = len(seen), time.monotonic()


def _collection(resource: str) -> str:
    """Return `group/version/plural` of a resource such as `queues.v1beta1.scheduling.volcano.sh`."""
    plural, version, group = resource.split(".", 2)
    return f"{group}/{version}/{plural}"
