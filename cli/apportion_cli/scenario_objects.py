"""The objects and the engine of `apportion simulate --scenario`, from a policy or a rendered tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.manifest_files import files_of
from apportion_cli.object_files import documents, object_text
from apportion_cli.options import limits
from apportion_cli.policy_nodes import policy_nodes
from apportion_cli.rendered_trees import is_rendered, refuse_policy_options
from apportion_compiler.alternatives import alternatives
from apportion_compiler.engines.registry import PLAIN_KUBERNETES, TRAITS

if TYPE_CHECKING:
    from apportion_compiler.compile import Compilation, Target
    from apportion_compiler.ir.program import Program
    from apportion_runtime.engines.base.model import Model
    from apportion_runtime.sim.scenario.format import NodeShape

_TEMPLATES = "templates"
_SHARD = "SchedulingShard"
_NODE_POOLS = "node-pools"


@dataclass(frozen=True, slots=True)
class ScenarioObjects:
    """The initial state of a simulation; `environment` and `cluster` are empty for a rendered tree.

    `added_nodes` are those that the scenario lacks, by the policy's pool. `code` is the exit code for the findings of
    the policy, none of which is an error.
    """

    objects: Sequence[Mapping[str, Any]]
    model: Model
    environment: str = ""
    cluster: str = ""
    nodes: Mapping[str, NodeShape] | None = None
    added_nodes: Mapping[str, int] = field(default_factory=dict)
    code: int = ExitCode.OK


def read_objects(
    source: str, *, env: str | None, cluster: str | None, engine: str | None, as_of: date, fail_on: str
) -> ScenarioObjects | int:
    """Return the objects of a rendered tree or a policy, with their engine; an exit code if a policy has errors.

    Findings for the cluster are printed, as by `compile`; those of severity `fail_on` set the exit code.

    Raises:
        PreconditionError: If a file cannot be read, or the engine is unknown or not simulated.
        click.UsageError: If the cluster is ambiguous or does not exist.
    """
    from apportion_runtime.engines.base.model import NoModelError
    from apportion_runtime.engines.detection import choose, named, of_model

    if engine is not None:
        try:
            named(engine)
        except NoModelError as unknown:
            raise PreconditionError(str(unknown)) from None
    found: list[dict[str, Any]]
    environment = name = ""
    code: int = ExitCode.OK
    nodes: Mapping[str, NodeShape] | None = None
    if is_rendered(source):
        refuse_policy_options(source, env=env, cluster=cluster)
        found = _rendered(source)
    else:
        compiled = _compiled(source, env=env, cluster=cluster, engine=engine, as_of=as_of, fail_on=fail_on)
        if isinstance(compiled, int):
            return compiled
        found, program, code = compiled
        environment, name, nodes = program.environment, program.cluster, policy_nodes(program)
    try:
        model = choose(found, engine)
    except NoModelError as none:
        raise PreconditionError(f"{source}: {none}") from None
    return ScenarioObjects(of_model(found, model), model, environment, name, nodes, code=code)


def one_shard(objects: Sequence[Mapping[str, Any]], shard: str | None, source: str) -> Sequence[Mapping[str, Any]]:
    """Return the objects of one SchedulingShard: each has separate nodes, queues and a scheduler.

    Raises:
        PreconditionError: If there is no such shard, or the shard is ambiguous.
    """
    from apportion_review.fit.clusters import of_shard

    names = sorted(str(made["metadata"]["name"]) for made in objects if made.get("kind") == _SHARD)
    listed = ", ".join(names) or "none"
    if shard is not None and shard not in names:
        raise PreconditionError(f"{source}: shard {shard} does not exist; {alternatives(names)}")
    if shard is None and len(names) > 1:
        raise PreconditionError(
            f"{source}: the cluster has more than one shard ({listed}); a simulation covers only one",
            hint="pass --shard; each shard has the queues (such as vision-h100) for its GPU model",
        )
    return of_shard(objects, shard or next(iter(names), None))


def _rendered(source: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for file in files_of(source):
        if _TEMPLATES not in Path(file).relative_to(source if Path(source).is_dir() else Path(file).parent).parts[:-1]:
            try:
                found.extend(documents(object_text(file)))
            except ValueError as wrong:
                raise PreconditionError(f"{file}: {wrong}") from None
    return found


def _compiled(
    source: str, *, env: str | None, cluster: str | None, engine: str | None, as_of: date, fail_on: str
) -> tuple[list[dict[str, Any]], Program, int] | int:
    """Return the objects of one cluster, its program and the exit code of its findings; only a code if it has errors."""
    from apportion_cli.findings import show_findings
    from apportion_cli.inputs import read_policy
    from apportion_compiler.compile import compile_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.errors import UnknownTargetError
    from apportion_compiler.targets import targets_of

    console = current()
    inputs = read_policy(source, limits(None, None))
    if inputs.policy is None:
        return show_findings(console, inputs, inputs.diagnostics, "error")
    try:
        wanted = targets_of(inputs.policy, (env,) if env else ())
    except UnknownTargetError as unknown:
        raise click.UsageError(str(unknown)) from unknown
    own = _one_cluster(wanted, cluster, engine)
    compilation = compile_policy(inputs.policy, own, as_of)
    if has_errors(compilation.diagnostics):
        return show_findings(console, inputs, compilation.diagnostics, "error")
    code = show_findings(console, inputs, compilation.diagnostics, fail_on)
    return objects_of_targets(compilation, own), compilation.programs[own[0]], code


def objects_of_targets(compilation: Compilation, targets: Iterable[Target]) -> list[dict[str, Any]]:
    """Return the output of targets: their objects, and those in their configuration files."""
    found: list[dict[str, Any]] = []
    for target in targets:
        output = compilation.outputs[target]
        found.extend(dict(made) for made in output.manifests)
        for artifact in output.artifacts:
            if artifact.name.endswith(".yaml") and not artifact.name.startswith(f"{_TEMPLATES}/"):
                found.extend(documents(artifact.content))
    return found


def compiled_objects(compilation: Compilation, cluster: str) -> ScenarioObjects:
    """Return the objects of one cluster of a compilation, such as `prod/gpu-1`.

    Raises:
        PreconditionError: If its engine is not simulated.
    """
    from apportion_runtime.engines.base.model import NoModelError
    from apportion_runtime.engines.detection import known, named, of_model

    own = [target for target in compilation.outputs if target.scope == cluster]
    engine = _engine(own)
    try:
        model = named(engine)
    except NoModelError:
        raise PreconditionError(
            f"{cluster} runs {TRAITS[engine].title}, which cannot be simulated; supported engines: {known()}"
        ) from None
    program = compilation.programs[own[0]]
    nodes = policy_nodes(program)
    return ScenarioObjects(
        of_model(objects_of_targets(compilation, own), model), model, program.environment, program.cluster, nodes
    )


def _one_cluster(wanted: Sequence[Target], cluster: str | None, engine: str | None) -> tuple[Target, ...]:
    """Return the targets of the selected cluster."""
    from apportion_runtime.engines.base.model import NoModelError
    from apportion_runtime.engines.detection import known, named

    by_cluster: dict[tuple[str, str], list[Target]] = {}
    for target in wanted:
        by_cluster.setdefault((target.environment, target.cluster), []).append(target)
    engines = {key: _engine(targets) for key, targets in by_cluster.items() if cluster in (None, key[1])}
    if not engines:
        raise PreconditionError(f"the policy has no cluster {cluster}")
    chosen = [key for key, name in engines.items() if engine in (None, name)]
    if engine is not None and not chosen:
        there = alternatives(dict.fromkeys(engines.values()))
        raise PreconditionError(f"no cluster in the policy runs {TRAITS[engine].title}; {there}")
    if len(chosen) > 1 and engine is None:
        with_model = [key for key in chosen if _has_model(engines[key])]
        chosen = with_model if len(with_model) == 1 else chosen
    if len(chosen) > 1:
        clusters = ", ".join(f"{env}/{name} ({engines[env, name]})" for env, name in chosen)
        raise click.UsageError(
            f"the policy has more than one cluster; choose one with --env, --cluster or --engine: {clusters}"
        )
    try:
        named(engines[chosen[0]])
    except NoModelError:
        environment, name = chosen[0]
        raise PreconditionError(
            f"{environment}/{name} runs {TRAITS[engines[chosen[0]]].title}, which cannot be simulated; supported engines: {known()}"
        ) from None
    return tuple(by_cluster[chosen[0]])


def _engine(targets: Sequence[Target]) -> str:
    others = [target.backend for target in targets if target.backend not in (PLAIN_KUBERNETES, _NODE_POOLS)]
    return others[0] if others else PLAIN_KUBERNETES


def _has_model(engine: str) -> bool:
    from apportion_runtime.engines.base.model import NoModelError
    from apportion_runtime.engines.detection import named

    try:
        named(engine)
    except NoModelError:
        return False
    return True
