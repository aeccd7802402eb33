"""The policy pack of a stack: the checks of `object_checks.py` as policies that Pulumi evaluates before an update.

`policy-pack/__main__.py` beside a stack's program calls `serve`. The pack reads the same configuration as the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path

import pulumi
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyPack,
    PolicyResource,
    ReportViolation,
    StackValidationArgs,
    StackValidationPolicy,
)

from apportion_compiler.emit.pulumi import applied_objects as applied
from apportion_compiler.emit.pulumi.environment_variables import FORMER
from apportion_compiler.emit.pulumi.object_checks import POLICIES, PolicyEvaluator
from apportion_compiler.emit.pulumi.resource_options import plain
from apportion_compiler.emit.pulumi.settings import StackSettings, read_settings
from apportion_compiler.emit.pulumi.stack_config import Values
from apportion_compiler.emit.pulumi.stack_targets import compile_read, read_policy, rooted
from apportion_compiler.plain_objects import Manifest, described, mapping

NAME = "apportion"
_OBJECT = "kubernetes:"
_PARTS_WITHOUT_NAMESPACE = 4
"""Number of parts of the resource name of a cluster-scoped object: cluster, target, kind and name."""
_LEVELS: Mapping[str, EnforcementLevel] = {
    "none": EnforcementLevel.DISABLED,
    "advisory": EnforcementLevel.ADVISORY,
    "mandatory": EnforcementLevel.MANDATORY,
}


def serve(
    today: date, root: Path, environment: Mapping[str, str] = os.environ, *, allow_missing_layers: bool = False
) -> None:
    """Serve requests of Pulumi's engine until it exits.

    Args:
        today: The date that determines the active overrides, unless the configuration sets one.
        root: The folder of `Pulumi.yaml`.
        environment: Variables of the process.
        allow_missing_layers: As that of `program.run`.
    """
    stack = environment["PULUMI_STACK"]
    settings = rooted(read_settings(Values(pulumi.runtime.get_config_env()), stack), root, environment)

    @cache
    def evaluator() -> PolicyEvaluator:
        return judge_of(settings, settings.as_of or today, environment, allow_missing_layers=allow_missing_layers)

    PolicyPack(NAME, policies(evaluator), _LEVELS[settings.enforcement])


def judge_of(
    settings: StackSettings, as_of: date, environment: Mapping[str, str], *, allow_missing_layers: bool = False
) -> PolicyEvaluator:
    """Return the evaluator of a stack's objects. Raises `Refused` if the policy cannot be compiled."""
    policy = read_policy(settings.policy, allow_missing_layers=allow_missing_layers)
    former = Path(environment[FORMER]).read_text(encoding="ascii") if FORMER in environment else None
    return PolicyEvaluator(
        policy,
        compile_read(policy, settings, as_of),
        applied.AppliedState() if former is None else applied.load(former),
        as_of,
    )


def policies(evaluator: Callable[[], PolicyEvaluator]) -> list[Policy]:
    """Return a Pulumi policy for each of `object_checks.POLICIES`; the first one that runs calls `evaluator`."""
    return [StackValidationPolicy(name, text, _validation(name, evaluator)) for name, text in POLICIES.items()]


def _validation(
    name: str, evaluator: Callable[[], PolicyEvaluator]
) -> Callable[[StackValidationArgs, ReportViolation], None]:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        objects = objects_of(args.resources)
        urns = {described(manifest): urn for found in objects.values() for urn, manifest in found}
        evaluated = evaluator().violations({target: [m for _, m in found] for target, found in objects.items()})
        for violation in evaluated:
            if violation.policy == name:
                report(f"{violation.object}: {violation.text}", urns.get(violation.object))

    return validate


def objects_of(resources: Sequence[PolicyResource]) -> dict[str, list[tuple[str, Manifest]]]:
    """Return the Kubernetes objects of a stack with their URNs, by `cluster/target`; the key is empty without a target."""
    found: dict[str, list[tuple[str, Manifest]]] = {}
    for resource in resources:
        if resource.resource_type.startswith(_OBJECT) and "kind" in resource.props:
            parts = resource.name.split("/")
            target = "/".join(parts[:2]) if len(parts) > 2 else ""
            manifest = plain(dict(resource.props))
            if len(parts) == _PARTS_WITHOUT_NAMESPACE:
                # Without access to a cluster, the provider treats every kind as namespaced.
                metadata = {k: v for k, v in mapping(manifest, "metadata").items() if k != "namespace"}
                manifest = {**manifest, "metadata": metadata}
            found.setdefault(target, []).append((resource.urn, manifest))
    return found
