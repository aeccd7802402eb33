"""The rendered trees of a compilation: comparison with an output folder, and writing them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from apportion_compiler.backends.capability import Output
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.output_folder import OutputFolder
from apportion_compiler.emit.tree import ObjectKey, render_target
from apportion_compiler.emit.tree_files import (
    TreeChange,
    compare_tree,
    former_objects,
    remove_former_files,
    stage_tree,
)
from apportion_compiler.ir.program import Program

Former = Callable[[str], Iterable[ObjectKey]]
"""Returns the objects of an earlier tree, given its folder below the output folder."""


@dataclass(frozen=True, slots=True)
class RenderedTree:
    """A target's tree: its folder below the output folder, its files, and the differences from the folder."""

    target: Target
    name: str
    files: Mapping[str, bytes]
    change: TreeChange


def tree_of(target: Target) -> str:
    """Return the folder of a target's tree below the output folder.

    Raises:
        ValueError: If a name contains a `/`.
    """
    parts = (target.environment, target.cluster, target.backend)
    for part in parts:
        if "/" in part:
            raise ValueError(f"`{part}` cannot be a folder name: it contains `/`")
    return "/".join(parts)


def rendered_trees(
    compilation: Compilation, root: OutputFolder | None, *, write: bool, former: Former | None = None
) -> Iterator[tuple[RenderedTree, Output]]:
    """Yield the tree of each target and the output that it was rendered from, and write them once the last was yielded.

    Args:
        compilation: The compilation.
        root: The output folder; None if it does not exist yet.
        write: Whether to write; otherwise, the trees are only compared with the output folder.
        former: Looks up earlier objects; by default in the output folder.

    Raises:
        ValueError: If an earlier tree's inventory is invalid.
        LinkedPathError: If an earlier tree is a link.
        OSError: If an earlier tree cannot be read, or a file cannot be written.
    """
    changes: dict[str, TreeChange] = {}
    # One at a time, because the trees of a large policy do not fit in memory together.
    for tree, output in _trees(compilation, root, former):
        if write and root is not None:
            stage_tree(root, tree.name, tree.files, tree.change)
        changes[tree.name] = tree.change
        yield tree, output
    if write and root is not None:
        root.commit()
        for name, change in changes.items():
            remove_former_files(root, name, change)


def _trees(
    compilation: Compilation, root: OutputFolder | None, former: Former | None
) -> Iterator[tuple[RenderedTree, Output]]:
    for target, output in compilation.outputs.items():
        name = tree_of(target)
        try:
            formerly = former_objects(root, name) if former is None else former(name)
        except ValueError as malformed:
            raise ValueError(f"{name}/{malformed}") from None
        files = render_target(output, _identity(target, compilation.programs[target]), formerly)
        yield RenderedTree(target, name, files, compare_tree(root, name, files)), output


def _identity(target: Target, program: Program) -> Mapping[str, str]:
    return {
        "organisation": program.organisation,
        "environment": target.environment,
        "cluster": target.cluster,
        "target": target.backend,
        "engineVersion": program.engine_version,
    }
