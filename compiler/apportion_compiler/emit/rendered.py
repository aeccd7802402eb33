"""The rendered tree of each target of a compilation: which folder, which files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.disk import former_objects
from apportion_compiler.emit.tree import render_target


def folder_of(target: Target, out: Path) -> Path:
    """Return the folder of a target's tree."""
    return out / target.environment / target.cluster / target.backend


def rendered_files(compilation: Compilation, target: Target, out: Path) -> Mapping[str, bytes]:
    """Return the files of a target's tree, given what an earlier one left in its folder.

    Raises:
        ValueError: If the folder's inventory is not one.
        OSError: If it cannot be read.
    """
    output, program = compilation.outputs[target], compilation.programs[target]
    identity = {
        "organisation": program.organisation,
        "environment": target.environment,
        "cluster": target.cluster,
        "target": target.backend,
        "engineVersion": program.engine_version,
    }
    return render_target(output, identity, former_objects(folder_of(target, out)))
