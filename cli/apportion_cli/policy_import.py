"""The implementation of `import`: read the objects and their queues, and generate the files of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.errors import PreconditionError
from apportion_cli.manifest_files import read_files
from apportion_cli.sources import Sources

if TYPE_CHECKING:
    from apportion_compiler.readers.record import Manifest, Note

_ENVIRONMENT = "prod"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options for the generated policy; None means a value from the objects."""

    engine: str
    organisation: str
    owner: str | None
    environment: str | None
    cluster: str
    engine_version: str | None


def imported(paths: Sequence[str], wanted: ImportOptions) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """Return the policy's files by name, and notes on fields that are not imported.

    Raises:
        PreconditionError: If a file cannot be read, has no queue, or has a value that a policy cannot represent.
        click.UsageError: If there is no reader for the engine, or a name or an owner is invalid.
    """
    from apportion_compiler.engine_versions import minor_text
    from apportion_compiler.engines.registry import TRAITS
    from apportion_compiler.errors import UnwritableError
    from apportion_compiler.policy_writer.adoption import adopted_policy
    from apportion_compiler.policy_writer.declarations import PolicyIdentity
    from apportion_compiler.readers import READERS
    from apportion_compiler.readers.cluster_reader import read_cluster
    from apportion_compiler.readers.objects import environment_of
    from apportion_policy.engine import Engine

    if wanted.engine not in READERS:
        raise click.UsageError(f"importing from {wanted.engine} is not supported; choose one of {', '.join(READERS)}")
    _refuse_names(wanted)
    manifests = read_manifests(paths)
    engine = Engine(wanted.engine)
    versions = TRAITS[engine.value].versions
    identity = PolicyIdentity(
        wanted.organisation,
        wanted.environment or environment_of(manifests) or _ENVIRONMENT,
        wanted.cluster,
        engine,
        wanted.engine_version or minor_text(versions.newest or versions.oldest),
        wanted.owner,
    )
    try:
        if not read_cluster(wanted.engine, manifests).queues:
            raise PreconditionError(f"no {TRAITS[wanted.engine].title} queues in {', '.join(paths)}")
        return adopted_policy(manifests, identity)
    except (ValueError, UnwritableError) as refused:
        raise PreconditionError(str(refused)) from refused


def _refuse_names(wanted: ImportOptions) -> None:
    from apportion_compiler.kubernetes_names import is_label, suggested_name
    from apportion_policy.identifiers import parse_owner

    if not wanted.organisation.isprintable():
        raise click.UsageError("--organisation is required: the directory name contains unprintable characters")
    for flag, name in (("--environment", wanted.environment), ("--cluster", wanted.cluster)):
        if name is not None and not is_label(name):
            instead = suggested_name(name)
            raise click.UsageError(
                f"{flag}: `{name}` is not a valid name: use lowercase letters, digits and dashes, and start and end "
                f"with a letter or digit{f' (for example `{instead}`)' if instead else ''}"
            )
    if wanted.owner is not None:
        try:
            parse_owner(wanted.owner)
        except ValueError as none:
            raise click.UsageError(f"--owner: {none}") from none


def read_manifests(paths: Sequence[str]) -> list[Manifest]:
    """Return the Kubernetes objects of files and directories. Raises `PreconditionError` if one cannot be read."""
    sources = Sources(Path.cwd(), None)
    manifests: list[Manifest] = []
    for name, read in read_files(paths, sources):
        for fault in read.faults:
            place = f"{sources.near(name)}:{fault.at.line}" if fault.at.line else sources.near(name)
            raise PreconditionError(f"{place}: {fault.message}", hint=fault.hint)
        manifests += (placed.manifest for placed in read.objects)
    return manifests
