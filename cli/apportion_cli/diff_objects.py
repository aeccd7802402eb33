"""Comparison with objects: a rendered tree or an export of a cluster, against a policy or other objects.

Objects are imported as a policy. If the other side is a policy, it is also compiled for the cluster and imported, so
that fields that objects cannot represent are missing on both sides.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.diff_sides import MODULES, read_side, side_input
from apportion_cli.errors import PreconditionError
from apportion_cli.inputs import read_policies
from apportion_cli.policy_import import read_manifests
from apportion_cli.rendered_trees import clusters_below, is_rendered

if TYPE_CHECKING:
    from apportion_compiler.plain_objects import Manifest
    from apportion_compiler.policy_writer.declarations import PolicyIdentity
    from apportion_policy.evaluation.limits import Limits
    from apportion_policy.source import SourceLocation
    from apportion_review.diff_report import DiffReport
    from apportion_review.facts import Facts
    from apportion_review.policy_side import PolicySide


@dataclass(frozen=True, slots=True)
class _Objects:
    """The objects of one side.

    Attributes:
        name: Name of the side in the report.
        manifests: The objects.
        is_export: Whether they may contain fields that the API server sets.
        locations: Their declarations in the policy that they were compiled from.
    """

    name: str
    manifests: Sequence[Manifest]
    is_export: bool
    locations: Mapping[tuple[str, str], SourceLocation]


def holds_objects(named: str | None) -> bool:
    """Return whether a side is a path with Kubernetes objects."""
    return named is not None and os.path.lexists(named) and is_rendered(named)


def compare_objects(
    base: str, head: str | None, policy: str, *, cluster: str | None, within: Limits, as_of: date
) -> DiffReport:
    """Compare two sides, at least one of which has objects.

    Args:
        base: A revision, a path of a policy, or one of objects.
        head: Likewise; None for the working tree's policy.
        policy: As in `diff_sides.read_sides`.
        cluster: `ENVIRONMENT/NAME`; None if there is only one.
        within: Limits of an evaluation.
        as_of: Date on which overrides are evaluated.

    Raises:
        PreconditionError: If a side cannot be read, or the policy has errors.
        InvalidSideError: If the head is a policy with structural errors.
        click.UsageError: If the cluster to compare is ambiguous.
    """
    from apportion_compiler.rollout.differences import differences as object_changes
    from apportion_review.diff_report import DiffReport, Side
    from apportion_review.differences import differences
    from apportion_review.object_changes import TargetChanges

    names = (base, head)
    is_of_objects = [holds_objects(name) for name in names]
    declared = {
        n: _policy_side(names[n], policy, within, as_of, is_head=n == 1) for n in (0, 1) if not is_of_objects[n]
    }
    place = _place(cluster, [str(n) for n, held in zip(names, is_of_objects, strict=True) if held], declared.values())
    identity, compiled = _identity(place, declared.values(), names)
    sides = [
        _Objects(
            "working tree" if names[n] is None else str(names[n]),
            compiled,
            is_export=False,
            locations=declared[n].facts.locations,
        )
        if n in declared
        else _read_objects(str(names[n]), place)
        for n in (0, 1)
    ]
    former, changed = (_facts(side, identity, as_of) for side in sides)
    is_exact = not any(side.is_export for side in sides)
    changes = object_changes(sides[0].manifests, sides[1].manifests) if is_exact else ()
    return DiffReport(
        Side(sides[0].name, as_of),
        Side(sides[1].name, as_of),
        differences(former[0], changed[0]),
        (TargetChanges("/".join(place), identity.engine.value, changes),) if changes else () if is_exact else None,
        "" if is_exact else "an export contains fields set by the API server; use apportion drift instead",
        tuple(dict.fromkeys((*former[1], *changed[1]))),
    )


def _policy_side(named: str | None, policy: str, within: Limits, as_of: date, *, is_head: bool) -> PolicySide:
    with ExitStack() as opened:
        from apportion_cli.diff_sides import SideInput

        side = SideInput("working tree", policy) if named is None else side_input(opened, named, policy)
        (inputs,) = read_policies([side.entry], within, MODULES)
        return read_side(side, inputs, as_of, is_head=is_head)


def _place(cluster: str | None, paths: Sequence[str], declared: Collection[PolicySide]) -> tuple[str, str]:
    """Return environment and name of the cluster to compare."""
    if cluster is not None:
        environment, slash, name = cluster.partition("/")
        if not slash or not name:
            raise click.UsageError(f"--cluster must be ENVIRONMENT/NAME, not {cluster}")
        return environment, name
    known = {place for path in paths if Path(path).is_dir() for place in clusters_below(path).values()}
    if not known:
        split = (name.partition("/") for side in declared for name in side.facts.clusters)
        known = {(environment, name) for environment, _, name in split}
    if len(known) != 1:
        listed = ", ".join(sorted("/".join(place) for place in known)) or "ENVIRONMENT/NAME"
        raise click.UsageError(f"specify which cluster the objects belong to with --cluster: {listed}")
    return next(iter(known))


def _identity(
    place: tuple[str, str], declared: Collection[PolicySide], names: tuple[str, str | None]
) -> tuple[PolicyIdentity, Sequence[Manifest]]:
    """Return the policy identity that objects do not contain, and the objects of the declared side."""
    from apportion_compiler.engine_versions import minor_text
    from apportion_compiler.engines.registry import TRAITS
    from apportion_compiler.policy_writer.declarations import PolicyIdentity
    from apportion_compiler.readers import READERS
    from apportion_policy.engine import Engine

    for side in declared:
        if side.compilation is None:
            raise PreconditionError(
                "the policy has errors, so it cannot be compared with Kubernetes objects", hint="run apportion validate"
            )
        programs = {t: p for t, p in side.compilation.programs.items() if (t.environment, t.cluster) == place}
        if not programs:
            raise click.UsageError(
                f"the policy has no cluster {'/'.join(place)}; it has {', '.join(side.facts.clusters)}"
            )
        program = next(iter(programs.values()))
        organisation = side.policy.organisation
        identity = PolicyIdentity(
            organisation.name, *place, Engine(program.engine), program.engine_version, organisation.owner
        )
        return identity, [m for target in programs for m in side.compilation.outputs[target].manifests]
    folders = [folder for name in names for folder, where in clusters_below(str(name)).items() if where == place]
    engines = {entry.name for folder in folders for entry in Path(folder).iterdir()} & (READERS.keys() - {"native"})
    if len(engines) > 1 or not folders:
        raise click.UsageError(
            "the engine cannot be determined from two exports: compare each with a policy or a rendered tree"
        )
    engine = Engine(next(iter(engines), "native"))
    versions = TRAITS[engine.value].versions
    return PolicyIdentity("objects", *place, engine, minor_text(versions.newest or versions.oldest)), ()


def _read_objects(path: str, place: tuple[str, str]) -> _Objects:
    from apportion_compiler.plain_objects import name_of

    if Path(path).is_dir():
        folders = [folder for folder, where in clusters_below(path).items() if where == place]
        if folders:
            # Inventories, kustomizations and configuration files are not objects of the cluster.
            applied = [
                manifest
                for manifest in read_manifests(folders)
                if name_of(manifest) and not str(manifest.get("apiVersion")).startswith("apportion.dev/")
            ]
            return _Objects(path, applied, is_export=False, locations={})
        if clusters_below(path):
            raise click.UsageError(f"{path} contains no rendered tree for cluster {'/'.join(place)}")
    return _Objects(path, read_manifests([path]), is_export=True, locations={})


def _facts(side: _Objects, identity: PolicyIdentity, as_of: date) -> tuple[Facts, tuple[str, ...]]:
    from apportion_compiler.compile import check_policy
    from apportion_compiler.errors import UnwritableError
    from apportion_compiler.policy_writer.adoption import policy_of_objects
    from apportion_review.facts import CLUSTER
    from apportion_review.policy_facts import facts_of

    try:
        policy, notes = policy_of_objects(side.manifests, identity)
    except (ValueError, UnwritableError) as refused:
        raise PreconditionError(f"{side.name}: {refused}") from refused
    graph = check_policy(policy, as_of).graph
    if graph is None:
        raise PreconditionError(
            f"{side.name} does not contain a valid queue tree", hint="run apportion validate --manifests"
        )
    lost = () if side.locations else tuple(f"{side.name}: {note.object}: {note.text}" for note in notes if note.lost)
    facts = facts_of(graph)
    # The cluster is the same on both sides; its imported settings only describe names of objects.
    values = {fact: value for fact, value in facts.values.items() if fact.kind != CLUSTER}
    return replace(facts, values=values, locations=side.locations), lost
