"""`apportion doctor`: check the installation and the settings in effect."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from apportion_cli.commands.version import PACKAGES, version_text
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, as_of_option, limit_options, limits, output_option
from apportion_cli.scopes import cluster_scope, place_options
from apportion_cli.settings import settings_in_force, settings_of, variable
from apportion_cli.verbosity import SETTINGS_REF, console_options

if TYPE_CHECKING:
    from datetime import date

    from apportion_policy.evaluation.confinement_layers import Layer
    from apportion_policy.evaluation.limits import Limits

_TOOLS = {
    "kubectl": "used to apply and prune rendered trees",
    "pulumi": "used by `apportion preview`, `apportion up` and `apportion drift` for stacks",
    "git": "used to compare revisions",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: `missing` is optional, `bad` is an error."""

    section: str
    name: str
    state: Literal["ok", "missing", "bad"]
    text: str


@click.command()
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FILE",
    help="Check a cluster's objects (kubectl get crds,deploy,sts,cm,ns -A -o json) against the policy's requirements.",
)
@click.option(
    "-p", "--policy", default=".", envvar=variable("policy"), type=click.Path(), help="Policy to compare with --export."
)
@place_options
@as_of_option
@output_option("text", "json")
@limit_options
@console_options
def doctor(
    *,
    exports: tuple[str, ...],
    policy: str,
    env: str | None,
    cluster: str | None,
    as_of: date,
    outputs: tuple[Output, ...],
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Check the installation: the sandbox, the tools on PATH and the settings in effect.

    With --export, check a cluster instead: its API versions, the version of its engine, and the configuration that the
    compiled policy requires.

    Exit 3 if a requirement is not met.

    \b
    apportion doctor
    apportion doctor --export cluster.json --env prod
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver

    within = limits(time_limit, memory_limit)
    if exports:
        findings = _cluster(exports, policy, env=env, cluster=cluster, as_of=as_of, within=within)
    else:
        findings = [*_installation(), *_confinement(is_allowed=within.allow_missing_layers), *_tools(), *_settings()]
    for output in outputs or (Output("text"),):
        deliver(current(), output, _json(findings) if output.format == "json" else _text(findings))
    return ExitCode.CANNOT if any(finding.state == "bad" for finding in findings) else ExitCode.OK


def _cluster(
    exports: tuple[str, ...], policy: str, *, env: str | None, cluster: str | None, as_of: date, within: Limits
) -> list[Finding]:
    """Compare an export with the requirements of the policy's output for the cluster.

    Raises:
        PreconditionError: If the policy has errors, or a file cannot be read.
    """
    from apportion_cli.inputs import read_policy
    from apportion_cli.manifest_files import read_files

    inputs = read_policy(policy, within)
    from apportion_compiler.backends import BACKENDS
    from apportion_compiler.compile import check_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.engines.registry import TRAITS
    from apportion_compiler.installation import installation
    from apportion_compiler.ir.lower import lower

    checked = None if inputs.policy is None else check_policy(inputs.policy, as_of)
    if checked is None or checked.graph is None or has_errors(checked.diagnostics):
        raise PreconditionError("the policy has errors", hint=f"run apportion validate {policy}")
    held = []
    for name, file in read_files(exports, inputs.sources):
        for fault in file.faults[:1]:
            raise PreconditionError(f"{inputs.sources.near(name)}:{fault.at.line}: {fault.message}")
        held.append(file)
    program = lower(checked.graph, cluster_scope(checked.graph, env, cluster))
    manifests = [placed.manifest for file in held for placed in file.objects]
    found = installation(program, BACKENDS[program.engine].emit(program), manifests)
    section = f"{program.environment}/{program.cluster}, {TRAITS[program.engine].title}"
    return [Finding(section, one.name, one.state, one.text) for one in found]


def _installation() -> list[Finding]:
    found = [
        Finding("installation", "apportion", "ok", version_text()),
        Finding("installation", "python", "ok", f"{platform.python_version()} at {sys.executable}"),
    ]
    for name in PACKAGES:
        try:
            found.append(Finding("installation", name, "ok", metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append(Finding("installation", name, "bad", "not installed: pip install apportion"))
    return found


def confines_untrusted() -> bool:
    """Check whether this system has every layer that unreviewed policies require."""
    return not any(finding.state == "bad" for finding in _confinement(is_allowed=False))


def _confinement(*, is_allowed: bool) -> list[Finding]:
    """Evaluate the smallest policy and report which layers confined it."""
    from tempfile import TemporaryDirectory

    from apportion_policy.errors import ConfinementError
    from apportion_policy.evaluation.confinement_layers import LAYERS, missing_layers
    from apportion_policy.evaluation.limits import Limits
    from apportion_policy.evaluation.parent import start
    from apportion_policy.evaluation.result import EvaluatedPolicy

    with TemporaryDirectory() as folder:
        entry = os.path.join(folder, "policy.json")  # noqa: PTH118
        with open(entry, "w", encoding="utf-8") as document:  # noqa: PTH123
            document.write('{"organisation": {"name": "doctor"}}')
        try:
            # The document is the command's own, so it is safe without any layer.
            outcome = start(entry, Limits(allow_missing_layers=True)).result()
        except ConfinementError as failed:
            return [Finding("confinement", "evaluation", "bad", f"{failed}; {failed.hint}")]
    if not isinstance(outcome, EvaluatedPolicy):
        reasons = "; ".join(fault.message for fault in outcome.faults)
        return [Finding("confinement", "evaluation", "bad", reasons)]
    missing = () if is_allowed else missing_layers(outcome.layers)
    return [_layer(layer, outcome.layers, is_required=layer in missing) for layer in LAYERS]


def _layer(layer: Layer, active: tuple[str, ...], *, is_required: bool) -> Finding:
    if is_required:
        text = f"prevents {layer.stops}; without it, policies are evaluated only with --allow-missing-layers"
        return Finding("confinement", layer.name, "bad", text)
    return Finding("confinement", layer.name, "ok" if layer.name in active else "missing", f"prevents {layer.stops}")


def _tools() -> list[Finding]:
    found: list[Finding] = []
    for name, purpose in _TOOLS.items():
        path = shutil.which(name)
        found.append(Finding("tools", name, "ok" if path else "missing", _version(path) if path else purpose))
    return found


def _version(path: str) -> str:
    arguments = {"kubectl": ["version", "--client"], "pulumi": ["version"]}.get(Path(path).name, ["--version"])
    try:
        shown = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return f"{path} does not respond"
    return (shown.splitlines() or [path])[0]


def _settings() -> list[Finding]:
    settings, in_tree = settings_of(click.get_current_context().meta.get(SETTINGS_REF))
    in_force = settings_in_force(settings, os.environ)
    held = {setting.key for setting in in_force}
    unapplied = [setting for setting in in_tree.settings if setting.key not in held]
    if not in_force and not unapplied:
        return [Finding("settings", "file", "ok", f"{in_tree.file or 'none'}; using defaults")]
    return [
        *(Finding("settings", s.key, "ok", f"{s.value} ({s.source})") for s in in_force),
        *(
            Finding("settings", s.key, "ok", f"not applied, because it affects the verdict ({s.source})")
            for s in unapplied
        ),
    ]


def _text(findings: list[Finding]) -> str:
    width = max(len(finding.name) for finding in findings)
    lines: list[str] = []
    section = ""
    for finding in findings:
        if finding.section != section:
            lines += ["", finding.section] if lines else [finding.section]
            section = finding.section
        lines.append(f"  {finding.state:<7} {finding.name:<{width}}  {finding.text}")
    return "\n".join(lines) + "\n"


def _json(findings: list[Finding]) -> str:
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "DoctorReport",
        "findings": [{"section": f.section, "name": f.name, "state": f.state, "text": f.text} for f in findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
