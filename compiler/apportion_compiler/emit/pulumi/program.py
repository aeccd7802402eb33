"""The program of a stack: read the settings, compile the policy, and register or render the objects.

`stacks/__main__.py` calls `run`. The objects applied last determine the order: the stack keeps them as an output, and
the next run reads it. If one update is not enough, `run` stops with an error, unless `apportion up` requested the first
of several.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pulumi
import pulumi_kubernetes

from apportion_api.counted_nouns import agreeing, counted
from apportion_compiler.compile import Compilation
from apportion_compiler.emit.output_folder import open_output
from apportion_compiler.emit.pulumi import applied_objects as applied
from apportion_compiler.emit.pulumi.component_tree import RegistrationOptions, register_target
from apportion_compiler.emit.pulumi.environment_variables import FORMER, STAGED, UPSERT
from apportion_compiler.emit.pulumi.guard import Guard
from apportion_compiler.emit.pulumi.node_pools import register_node_pools
from apportion_compiler.emit.pulumi.outputs import queue_outputs
from apportion_compiler.emit.pulumi.scheduler import register_scheduler
from apportion_compiler.emit.pulumi.settings import (
    NAMESPACE,
    ClusterAccess,
    SettingsError,
    StackSettings,
    read_settings,
)
from apportion_compiler.emit.pulumi.stack_targets import (
    Refused,
    compile_stack,
    packaged_schedulers,
    rooted,
    unserved_sharing,
)
from apportion_compiler.emit.pulumi.unapplied_settings import unapplied
from apportion_compiler.emit.pulumi.update_plan import NextUpdate, next_update, several_updates
from apportion_compiler.emit.rendered_trees import rendered_trees

Transformation = Callable[[pulumi.ResourceTransformationArgs], pulumi.ResourceTransformationResult | None]


def run(
    today: date, root: Path, environment: Mapping[str, str] = os.environ, *, allow_missing_layers: bool = False
) -> None:
    """Run the stack's program.

    Args:
        today: The date that determines the active overrides, unless the configuration sets one.
        root: Base of relative paths in the configuration: the folder of `Pulumi.yaml`.
        environment: Variables of the process.
        allow_missing_layers: Evaluate the policy even if this system lacks a layer of its confinement. Only the program
            sets it, because a pull request can change a stack's configuration.

    Raises:
        pulumi.RunError: If the stack cannot be applied as configured.
    """
    try:
        _run(today, root, environment, allow_missing_layers=allow_missing_layers)
    except (Refused, SettingsError) as refused:
        raise pulumi.RunError(str(refused)) from None


def _run(today: date, root: Path, environment: Mapping[str, str], *, allow_missing_layers: bool) -> None:
    settings = read_settings(pulumi.Config(NAMESPACE), pulumi.get_stack())
    as_of = settings.as_of or today
    compilation = compile_stack(rooted(settings, root, environment), as_of, allow_missing_layers=allow_missing_layers)
    if settings.mode == "render":
        _render(compilation, root / settings.out)
        return
    former = _former(environment)
    update = next_update(compilation, former, settings.node_pools)
    if update.remaining and STAGED not in environment:
        raise Refused(several_updates(update.remaining, settings.environment))
    guard = Guard(update.changes_from(former), settings.allow, is_on=settings.guard)
    _apply(compilation, update, former, settings=settings, root=root, guard=guard)


def _render(compilation: Compilation, out: Path) -> None:
    writes = not pulumi.runtime.is_dry_run()
    with open_output(out, writing=writes) as folder:
        changes = {tree.name: tree.change for tree, _ in rendered_trees(compilation, folder, write=writes)}
    for name, change in changes.items():
        n_files = len((*change.added, *change.changed, *change.removed))
        pulumi.info(
            f"{out / name}: {counted(n_files, 'file')} {'written' if writes else agreeing(n_files, 'changes', 'change')}"
        )
    pulumi.export("rendered", [(out / name).as_posix() for name in changes])


def _former(environment: Mapping[str, str]) -> applied.AppliedState:
    """Return the applied objects, from the file of `apportion up` or from the stack's output."""
    if FORMER in environment:
        return applied.load(Path(environment[FORMER]).read_text(encoding="ascii"))
    own = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    answer = pulumi.runtime.invoke("pulumi:pulumi:readStackOutputs", {"name": own}).value or {}
    text = (answer.get("outputs") or {}).get(applied.OUTPUT)
    try:
        return applied.AppliedState() if text is None else applied.load(text)
    except ValueError as malformed:
        raise Refused(str(malformed)) from None


def _apply(
    compilation: Compilation,
    update: NextUpdate,
    former: applied.AppliedState,
    *,
    settings: StackSettings,
    root: Path,
    guard: Guard,
) -> None:
    if settings.transformation is not None:
        pulumi.runtime.register_stack_transformation(_transformation(settings.transformation))
    if settings.adopt:
        # Versions of the provider that do not support the variable always adopt existing objects.
        os.environ[UPSERT] = "true"
    providers = _providers(compilation, settings, root)
    made: list[pulumi.Resource] = []
    for target, held in update.targets.items():
        treatment = RegistrationOptions(
            guard,
            providers[target.cluster],
            protects=settings.protect == "guaranteed",
            retains=settings.retains,
            adopt=frozenset(settings.adopt),
            former_depth=former.depth,
        )
        made += register_target(target, compilation.programs[target], held, treatment)
    for cluster, packaged in packaged_schedulers(compilation, settings).items():
        if cluster not in providers:
            raise Refused(
                f"{NAMESPACE}:schedulers lists {cluster}, but this stack contains only {', '.join(providers)}"
            )
        made += register_scheduler(cluster, packaged, providers[cluster])
    for warning in unserved_sharing(compilation, settings):
        pulumi.warn(warning)
    made += register_node_pools(compilation, settings)
    pulumi.export("environment", settings.environment)
    pulumi.export("queues", queue_outputs(compilation))
    left = unapplied(compilation, settings.node_pools)
    for each in left:
        pulumi.warn(each.text)
    pulumi.export("notApplied", [each.document() for each in left])
    pulumi.export("remaining", update.remaining)
    # Until every object exists, the stack keeps its previous outputs.
    text = applied.dump(update.applied)
    pulumi.export(applied.OUTPUT, pulumi.Output.all(*(one.urn for one in made)).apply(lambda _: text))


def _providers(compilation: Compilation, settings: StackSettings, root: Path) -> dict[str, pulumi.ProviderResource]:
    names = list(dict.fromkeys(target.cluster for target in compilation.outputs))
    unknown = [name for name in names if name not in settings.clusters]
    if unknown and len(names) > 1:
        raise Refused(
            f"environment {settings.environment} has {len(names)} clusters, but {NAMESPACE}:clusters does not specify "
            f"how to reach {', '.join(unknown)}: set a context for each, or select clusters with {NAMESPACE}:targets"
        )
    return {name: _provider(name, settings.clusters.get(name, ClusterAccess()), root) for name in names}


def _provider(cluster: str, access: ClusterAccess, root: Path) -> pulumi.ProviderResource:
    kubeconfig = access.kubeconfig
    if kubeconfig is not None and "\n" not in kubeconfig:
        kubeconfig = str(root / Path(kubeconfig).expanduser())
    return pulumi_kubernetes.Provider(
        cluster, kubeconfig=kubeconfig, context=access.context, enable_server_side_apply=True
    )


def _transformation(reference: str) -> Transformation:
    module, colon, name = reference.partition(":")
    try:
        found: Any = getattr(import_module(module), name) if colon else None
    except (ImportError, AttributeError) as missing:
        raise Refused(f"{NAMESPACE}:transformation: {missing}") from None
    if not callable(found):
        raise Refused(f"{NAMESPACE}:transformation must be module:function, not {reference}")
    return cast("Transformation", found)
