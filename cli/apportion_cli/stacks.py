"""Pulumi's automation API. No other module of the command line imports Pulumi."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion_cli.errors import PreconditionError
from apportion_cli.options import limits
from apportion_compiler.emit.pulumi.environment_variables import POLICY

if TYPE_CHECKING:
    from datetime import date

    from pulumi.automation import EngineEvent, Stack

    from apportion_compiler.emit.pulumi.applied_objects import AppliedState
    from apportion_compiler.emit.pulumi.settings import StackSettings
    from apportion_compiler.emit.pulumi.update_plan import TargetPlan
    from apportion_compiler.rollout.drift import DriftedObject

_INSTALL = "https://www.pulumi.com/docs/install/"
_INSTALL_PLUGIN = "https://www.pulumi.com/docs/iac/cli/commands/pulumi_plugin_install/"
_MISSING_PLUGIN = re.compile(r"plugin '(?P<plugin>[\w-]+)'.*install the plugin using `(?P<command>[^`]+)`")
_MAX_UPDATES = 20
_OBJECT = "kubernetes:"
"""Prefix of the resource types of Kubernetes objects."""
PROJECT = "Pulumi.yaml"
_PACK = "stacks/policy-pack"


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a stack: changes, number of updates, and warnings.

    `retains` has the kinds whose objects stay on the cluster when they leave the stack.
    """

    environment: str
    n_updates: int
    targets: tuple[TargetPlan, ...]
    warnings: tuple[str, ...] = ()
    retains: frozenset[str] = frozenset()

    @property
    def n_objects(self) -> int:
        """Number of objects to create, change or delete."""
        return sum(len(target.changes) for target in self.targets)

    def in_use(self, export: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
        """Return a clause for each object to delete that is in use according to an export."""
        from apportion_compiler.rollout.queue_usage import in_use

        return tuple(clause for target in self.targets for clause in in_use(target.changes, export))


class DeployedStack:
    """A stack of the project in a directory."""

    def __init__(self, name: str, folder: Path, policy: Path | None = None) -> None:
        """Select the stack, or create it if it does not exist.

        Args:
            name: The stack.
            folder: The folder of `Pulumi.yaml`, or one below it.
            policy: The policy to use instead of the configured one.

        Raises:
            PreconditionError: If Pulumi is not installed, or fails.
        """
        self.name = name
        self._folder = _project(folder)
        # Not resolved: the evaluation rejects an entry that is a link to a target outside its folder.
        self._read_instead = {} if policy is None else {POLICY: os.path.abspath(policy)}  # noqa: PTH100
        automation = _automation()
        options = automation.LocalWorkspaceOptions(
            work_dir=str(self._folder), env_vars=_variables(self._folder) | self._read_instead
        )
        with _said():
            self._stack: Stack = automation.create_or_select_stack(name, work_dir=str(self._folder), opts=options)

    def plan(self, as_of: date) -> Plan:
        """Return the plan of `up` from the policy and the stack's state, without contacting a cluster."""
        from apportion_compiler.emit.pulumi.stack_targets import Refused, compile_stack, packaged_schedulers, rooted
        from apportion_compiler.emit.pulumi.update_plan import plan_stack
        from apportion_compiler.rollout.destructive_changes import destructive_changes

        settings = rooted(self._settings(), self._folder, self._read_instead)
        try:
            compilation = compile_stack(
                settings,
                settings.as_of or as_of,
                allow_missing_layers=limits(None, None).allow_missing_layers,
            )
            former = self._applied(self._deployment())
            plan = plan_stack(compilation, former, settings.node_pools, packaged_schedulers(compilation, settings))
        except Refused as refused:
            raise PreconditionError(str(refused)) from None
        warnings = tuple(change.text for target in plan.targets for change in destructive_changes(target.changes))
        return Plan(settings.environment, plan.n_updates, plan.targets, warnings, settings.retains)

    def preview(self, say: Callable[[str], None]) -> None:
        """Run Pulumi's preview of the next update."""
        with self._configured(), _said():
            # The stack's outputs for each queue are meant for programs, and longer than the changes.
            self._stack.preview(on_output=say, color="never", suppress_outputs=True, policy_packs=self._policy_packs())

    def up(self, say: Callable[[str], None], done: Callable[[], None], *, refresh: bool = False) -> int:
        """Run updates until the clusters match the policy, and return their number.

        Args:
            say: Receives the engine's output.
            done: Called for each object that is created, changed or deleted.
            refresh: Whether to refresh the state from the clusters first, so that manual changes are reverted.
        """

        def happened(event: EngineEvent) -> None:
            found = event.res_outputs_event
            if found is not None and found.metadata.type.startswith(_OBJECT) and found.metadata.op != "same":
                done()

        packs = self._policy_packs()
        for number in range(1, _MAX_UPDATES + 1):
            with self._configured(), _said():
                result = self._stack.up(
                    on_output=say,
                    on_event=happened,
                    color="never",
                    show_secrets=False,
                    suppress_outputs=True,
                    policy_packs=packs,
                    refresh=refresh and number == 1,
                )
            remaining = result.outputs.get("remaining")
            if remaining is None or not remaining.value:
                return number
            say(f"update {number} completed; {int(remaining.value)} remaining\n")
        raise PreconditionError(f"the stack {self.name} has not converged after {_MAX_UPDATES} updates")

    def drift(self) -> tuple[DriftedObject, ...]:
        """Return the drift of the clusters from the applied state, by Pulumi's refresh."""
        from apportion_compiler.emit.pulumi.resource_options import plain
        from apportion_compiler.rollout.drift import drift

        applied: list[Mapping[str, object]] = []
        there: list[Mapping[str, object]] = []

        def happened(event: EngineEvent) -> None:
            found = event.res_outputs_event
            if found is None or not found.metadata.type.startswith(_OBJECT) or found.metadata.old is None:
                return
            applied.append(plain(found.metadata.old.inputs or {}))
            if found.metadata.op != "delete" and found.metadata.new is not None:
                there.append({k: v for k, v in (found.metadata.new.outputs or {}).items() if not k.startswith("__")})

        with _said():
            self._stack.preview_refresh(on_event=happened, color="never")
        return drift(applied, there)

    def unlock(self) -> None:
        """Clear the lock left by a killed update."""
        with _said():
            self._stack.cancel()

    def _settings(self) -> StackSettings:
        from apportion_compiler.emit.pulumi.settings import SettingsError, read_settings
        from apportion_compiler.emit.pulumi.stack_config import Values

        with _said():
            config = Values({key: value.value for key, value in self._stack.get_all_config().items()})
        try:
            return read_settings(config, self.name)
        except SettingsError as wrong:
            raise PreconditionError(str(wrong)) from None

    def _policy_packs(self) -> list[str]:
        """Return the directory of the project's policy pack if the stack enables it."""
        pack = self._folder / _PACK
        return [str(pack)] if self._settings().enforcement != "none" and pack.is_dir() else []

    def _deployment(self) -> Mapping[str, Any]:
        with _said():
            return self._stack.export_stack().deployment or {}

    def _applied(self, deployment: Mapping[str, Any]) -> AppliedState:
        from apportion_compiler.emit.pulumi.state import applied_in

        try:
            return applied_in(deployment)
        except ValueError as malformed:
            raise PreconditionError(str(malformed)) from None

    @contextmanager
    def _configured(self) -> Iterator[None]:
        """Permit the stack's program to use several updates, and pass it the applied objects according to the state."""
        from apportion_compiler.emit.pulumi.applied_objects import dump
        from apportion_compiler.emit.pulumi.environment_variables import FORMER, STAGED, UPSERT

        deployment = self._deployment()
        with tempfile.TemporaryDirectory(prefix="apportion-") as folder:
            former = Path(folder) / "applied"
            former.write_text(dump(self._applied(deployment)), encoding="ascii")
            workspace = self._stack.workspace
            before = workspace.env_vars
            # Objects of a killed update may exist without being recorded in the state.
            interrupted = {UPSERT: "true"} if deployment.get("pending_operations") else {}
            workspace.env_vars = {**before, STAGED: "1", FORMER: str(former), **interrupted}
            try:
                yield
            finally:
                workspace.env_vars = before


class LockedError(PreconditionError):
    """The stack is locked by a running or killed update."""


def _automation() -> Any:
    if shutil.which("pulumi") is None:
        raise PreconditionError("this command requires `pulumi`, which is not on PATH", hint=f"install it: {_INSTALL}")
    try:
        import pulumi.automation
        import pulumi_kubernetes  # noqa: F401 - the stack's program needs it.
    except ImportError:
        raise PreconditionError(
            "Pulumi's Python library is not installed", hint="install it: pip install 'apportion[pulumi]'"
        ) from None
    return pulumi.automation


def _project(folder: Path) -> Path:
    here = folder.resolve()
    for above in (here, *here.parents):
        if (above / PROJECT).is_file():
            return above
    raise PreconditionError(
        f"no {PROJECT} in {folder} or its parent directories", hint="create one: apportion init --pulumi"
    )


def _variables(folder: Path) -> dict[str, str]:
    """Return the variables of Pulumi without an account: stacks are files in the project, unless a backend is set."""
    variables = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    chosen = "PULUMI_BACKEND_URL" in os.environ or _logged_in() or "backend:" in (folder / PROJECT).read_text()
    if not chosen:
        (folder / ".pulumi-state").mkdir(exist_ok=True)
        variables["PULUMI_BACKEND_URL"] = f"file://{folder / '.pulumi-state'}"
    if not {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} & set(os.environ) and not chosen:
        # The stack's configuration contains no secrets.
        variables["PULUMI_CONFIG_PASSPHRASE"] = ""
    return variables


def _logged_in() -> bool:
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    try:
        return bool(json.loads((home / "credentials.json").read_text(encoding="utf-8")).get("current"))
    except (OSError, ValueError):
        return False


@contextmanager
def _said() -> Iterator[None]:
    """Convert the error output of Pulumi to a sentence."""
    from pulumi.automation.errors import CommandError, ConcurrentUpdateError, InvalidVersionError

    try:
        yield
    except ConcurrentUpdateError:
        raise LockedError(
            "another update of this stack is running, or an interrupted update did not release its lock",
            hint="wait for the other update to finish; if none is running, pass --unlock",
        ) from None
    except InvalidVersionError as old:
        raise PreconditionError(str(old), hint=f"install a newer version: {_INSTALL}") from None
    except CommandError as failed:
        output = str(failed)
        if missing := _MISSING_PLUGIN.search(output):
            raise PreconditionError(
                f"the Pulumi plugin `{missing['plugin']}` is not installed and could not be downloaded",
                hint=f"install it: {missing['command']} ({_INSTALL_PLUGIN})",
            ) from None
        raise PreconditionError(_reason(output)) from None


def _reason(output: str) -> str:
    """Return the error lines of Pulumi's output, with their continuation lines."""
    lines = [line.strip() for line in output.splitlines()]
    wrong: list[str] = []
    goes_on = False
    for line in lines:
        if line.lower().startswith(("error:", "* ")):
            wrong.append(line)
            goes_on = True
        elif goes_on:
            # A continuation of a sentence begins with a lower-case letter; a heading does not.
            wrong[-1] += f" {line}" if line[:1].islower() else ""
            goes_on = False
    return "Pulumi failed: " + ("; ".join(dict.fromkeys(wrong)) or " ".join(lines[-3:]))
