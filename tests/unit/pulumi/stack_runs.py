"""A stack's program run against a monitor that records registrations, instead of Pulumi's engine."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import mocks, rpc

from apportion_compiler.emit.pulumi import program

POLICY = Path(__file__).parents[2] / "e2e" / "policies" / "every-engine"
DAY = date(2026, 11, 21)
PROJECT, STACK = "apportion", "dev"


@dataclass(frozen=True)
class Registered:
    """One resource as the engine would be told of it."""

    urn: str
    type: str
    name: str
    inputs: Mapping[str, Any]
    parent: str
    waits: frozenset[str]
    protect: bool
    retain_on_delete: bool
    aliases: frozenset[str]
    ignores: tuple[str, ...]
    replaces: tuple[str, ...]
    import_id: str
    provider: str
    hooks: tuple[str, ...]


class _Mocks(mocks.Mocks):
    def __init__(self, last: Mapping[str, Any]) -> None:
        self.last = last

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        assert args.token == "pulumi:pulumi:readStackOutputs"
        return {"name": args.args["name"], "outputs": dict(self.last)}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", dict(args.inputs)


@contextmanager
def _loop_of_thread() -> Iterator[None]:
    """The mock makes an event loop for each thread that asks it and leaves it open."""
    if threading.current_thread() is threading.main_thread():
        yield
        return
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        loop.close()
        asyncio.set_event_loop(None)


class _Monitor(mocks.MockMonitor):
    """Makes URNs as the engine does, with the types of everything above, and keeps the requests."""

    def __init__(self, mocked: _Mocks) -> None:
        super().__init__(mocked)
        self.registered: list[Registered] = []

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        above = parent.split("::")[2] if parent else ""
        chain = f"{above}${type_}" if above and above != "pulumi:pulumi:Stack" else type_
        return f"urn:pulumi:{STACK}::{PROJECT}::{chain}::{name}"

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        if request.type != "pulumi:pulumi:Stack":
            self.registered.append(
                Registered(
                    self.make_urn(request.parent, request.type, request.name),
                    request.type,
                    request.name,
                    rpc.deserialize_properties(request.object),
                    request.parent,
                    frozenset(request.dependencies),
                    request.protect,
                    request.retainOnDelete,
                    frozenset(alias.urn for alias in request.aliases) | frozenset(request.aliasURNs),
                    tuple(request.ignoreChanges),
                    tuple(request.replaceOnChanges),
                    request.importId,
                    request.provider,
                    tuple(request.hooks.before_delete),
                )
            )
        with _loop_of_thread():
            return super().RegisterResource(request)

    def Invoke(self, request: Any) -> Any:  # noqa: N802
        with _loop_of_thread():
            return super().Invoke(request)


@dataclass(frozen=True)
class Run:
    """What one run of the program told the engine."""

    registered: tuple[Registered, ...]
    outputs: Mapping[str, Any]
    transformed: tuple[str, ...] = field(default=())

    @property
    def objects(self) -> dict[str, Registered]:
        """The Kubernetes objects by name."""
        return {one.name: one for one in self.registered if one.type.startswith("kubernetes:")}

    def queues(self, cluster: str) -> set[str]:
        """The names of the queues' components of a cluster."""
        return {one.name for one in self.registered if one.type == "apportion:index:Queue" and cluster in one.name}


def policy_in(folder: Path, state: str = "first") -> Path:
    """Copy the policy and set its state."""
    if not (folder / "policy").exists():
        shutil.copytree(POLICY, folder / "policy", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "apportion.toml").write_text("")
    (folder / "policy" / "change.py").write_text(f'STATE = "{state}"\n')
    return folder


def run_stack(
    root: Path,
    config: Mapping[str, Any],
    *,
    last: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run the program of a stack whose last outputs are given."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    monitor = _Monitor(_Mocks(last or {}))
    pulumi.runtime.set_mocks(monitor.mocks, PROJECT, STACK, preview=False, monitor=monitor, organization="organization")
    texts = {
        f"apportion:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in {"policy": "policy", **config}.items()
    }
    pulumi.runtime.set_all_config(texts)
    outputs: dict[str, Any] = {}

    @pulumi.runtime.test
    def ran() -> pulumi.Output[None]:
        stack = pulumi.runtime.get_root_resource()
        assert stack is not None
        stack.outputs = {}
        program.run(DAY, root, environment or {})
        return pulumi.Output.all(**stack.outputs).apply(outputs.update)

    try:
        ran()
    finally:
        loop.close()
        asyncio.set_event_loop(None)
    return Run(tuple(sorted(monitor.registered, key=lambda one: one.urn)), outputs)
