"""Compilation of a stack's environment: the policy is evaluated in a separate process, checked and compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from apportion_api.counted_nouns import counted
from apportion_compiler.checks.evaluation_faults import authoring_findings
from apportion_compiler.compile import Compilation, compile_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Severity, has_errors
from apportion_compiler.emit.pulumi.environment_variables import POLICY
from apportion_compiler.emit.pulumi.settings import NAMESPACE, StackSettings
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.errors import UnknownTargetError
from apportion_compiler.packaged_scheduler import ACK, SchedulerDeployment
from apportion_compiler.targets import targets_of
from apportion_policy import wire
from apportion_policy.errors import AgreementError, ConfinementError
from apportion_policy.evaluated_policy import policy_of
from apportion_policy.evaluation.confinement_layers import missing_layers
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.parent import start
from apportion_policy.evaluation.policy_root import project_root
from apportion_policy.evaluation.result import Rejected
from apportion_policy.evaluation.sanitized_text import plain_text
from apportion_policy.policy import Policy


class Refused(Exception):
    """The stack cannot be applied as configured; the message is shown to the user."""


def compile_stack(settings: StackSettings, as_of: date, *, allow_missing_layers: bool = False) -> Compilation:
    """Return the compilation of the stack's environment.

    Args:
        settings: The stack's configuration.
        as_of: The date that determines the active overrides.
        allow_missing_layers: Evaluate the policy even if this system lacks a layer of its confinement.

    Raises:
        Refused: If there is no policy, it has errors, or the environment or a target is unknown.
    """
    return compile_read(read_policy(settings.policy, allow_missing_layers=allow_missing_layers), settings, as_of)


def compile_read(policy: Policy, settings: StackSettings, as_of: date) -> Compilation:
    """Return the compilation of a policy for a stack. Raises `Refused`."""
    try:
        targets = targets_of(policy, (settings.environment,), settings.targets)
    except UnknownTargetError as unknown:
        raise Refused(str(unknown)) from None
    _check_schedulers(policy, settings)
    compilation = compile_policy(policy, targets, as_of)
    if has_errors(compilation.diagnostics):
        raise Refused(_errors(compilation.diagnostics))
    return compilation


def _check_schedulers(policy: Policy, settings: StackSettings) -> None:
    """Refuse the packaged scheduler on a cluster whose engine is not the one that it replaces."""
    engines = {
        cluster.name: cluster.engine
        for environment in policy.environments
        if environment.name == settings.environment
        for cluster in environment.clusters
    }
    for cluster in settings.schedulers:
        engine = engines.get(cluster)
        if engine is not None and not TRAITS[engine.value].live_scheduler:
            replaced = " or ".join(sorted(name for name, traits in TRAITS.items() if traits.live_scheduler))
            raise Refused(
                f"{NAMESPACE}:schedulers lists {cluster} with engine {engine.value}, but the packaged scheduler supports "
                f"only {replaced}: remove {cluster} from {NAMESPACE}:schedulers, or set its engine to {replaced}"
            )
        if engine is not None and engine.value == ACK:
            _check_admission(cluster, settings.schedulers[cluster])


def _check_admission(cluster: str, packaged: SchedulerDeployment) -> None:
    """Refuse settings of pods where the packaged scheduler releases jobs."""
    default = SchedulerDeployment(packaged.image)
    for name in ("scheduler", "shards", "reservation"):
        if getattr(packaged, name) != getattr(default, name):
            raise Refused(
                f"{NAMESPACE}:schedulers.{cluster} sets {name}, but with engine ack, the packaged scheduler only releases "
                f"suspended jobs and does not schedule pods: remove {name}"
            )


def packaged_schedulers(compilation: Compilation, settings: StackSettings) -> Mapping[str, SchedulerDeployment]:
    """Return the packaged scheduler of each cluster; the policy determines its engine, and its
    image of reservation pods applies if none is set.
    """
    declared = {
        target.cluster: program.kai.live_scheduler.reservation_image
        for target, program in compilation.programs.items()
        if program.kai.live_scheduler is not None
    }
    releasing = {target.cluster for target in compilation.programs if target.backend == ACK}
    return {
        cluster: replace(
            packaged,
            engine=ACK if cluster in releasing else packaged.engine,
            reservation=packaged.reservation or declared.get(cluster),
        )
        for cluster, packaged in settings.schedulers.items()
    }


def unserved_sharing(compilation: Compilation, settings: StackSettings) -> Iterator[str]:
    """Yield a warning for each cluster whose policy shares GPUs and whose packaged scheduler does not."""
    sharing = {target.cluster for target, program in compilation.programs.items() if program.kai.gpu_sharing}
    for cluster, packaged in packaged_schedulers(compilation, settings).items():
        if packaged.reservation is None and cluster in sharing:
            yield (
                f"the policy shares GPUs on {cluster}, but the packaged scheduler does not schedule pods that share a "
                f"GPU: set reservation in {NAMESPACE}:schedulers, or reservation_image in the policy, to KAI's "
                "`resourcereservation` image"
            )


def rooted(settings: StackSettings, root: Path, environment: Mapping[str, str]) -> StackSettings:
    """Return settings with the policy's path resolved against a folder, or replaced by that in `POLICY`."""
    return replace(settings, policy=str(root / environment.get(POLICY, settings.policy)))


def read_policy(entry: str, *, allow_missing_layers: bool = False) -> Policy:
    """Evaluate a policy in a confined child process and return it. Raises `Refused`."""
    try:
        outcome = start(entry, Limits(allow_missing_layers=allow_missing_layers)).result()
    except ConfinementError as unconfined:
        raise Refused(f"{unconfined}\n  {unconfined.hint}") from None
    for layer in missing_layers(outcome.layers) if outcome.layers else ():
        message = f"apportion: warning: without `{layer.name}`, nothing prevents the policy from {layer.stops}"
        sys.stderr.write(message + "\n")
    if isinstance(outcome, Rejected):
        raise Refused(_errors(authoring_findings(outcome.faults)))
    try:
        return policy_of(outcome, project_root(Path(outcome.tree.entry)))
    except AgreementError as unreadable:
        raise Refused(str(unreadable)) from None
    except wire.WireError as malformed:
        raise Refused(f"the policy corrupted the result of its evaluation: {malformed}") from None


def _errors(findings: Iterable[Diagnostic]) -> str:
    lines = [
        f"  {plain_text(d.at.file)}:{d.at.line}: error[{d.code}] {plain_text(d.message)}"
        for d in findings
        if d.effective_severity is Severity.ERROR and d.suppression is None
    ]
    return "\n".join((f"the policy has {counted(len(lines), 'error')}; `apportion validate` lists them", *lines))
