"""The rendered trees of a compilation: comparison with an output folder, and writing them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    compilation: Compilation, root: OutputFolder | None, *, former: Former | None = None
) -> tuple[RenderedTree, ...]:
    """Return the tree of each target.

    Args:
        compilation: The compilation.
        root: The output folder; None if it does not exist yet.
        former: Looks up earlier objects; by default in the output folder.

    Raises:
        ValueError: If an earlier tree's inventory is invalid.
        LinkedPathError: If an earlier tree is a link.
        OSError: If an earlier tree cannot be read.
    """
    trees: list[RenderedTree] = []
    for target in compilation.outputs:
        name = tree_of(target)
        try:
            formerly = former_objects(root, name) if former is None else former(name)
        except ValueError as malformed:
            raise ValueError(f"{name}/{malformed}") from None
        files = _files(compilation, target, formerly)
        trees.append(RenderedTree(target, name, files, compare_tree(root, name, files)))
    return tuple(trees)


def write_trees(root: OutputFolder, trees: Sequence[RenderedTree]) -> None:
    """Write the trees to the output folder: all files or, on an error, none.

    Raises:
        LinkedPathError: If a folder of a tree is a link, or a folder exists where a file is expected.
        OSError: If a file cannot be written.
    """
    for tree in trees:
        stage_tree(root, tree.name, tree.files, tree.change)
    root.commit()
    for tree in trees:
        remove_former_files(root, tree.name, tree.change)


def _files(compilation: Compilation, target: Target, formerly: Iterable[ObjectKey]) -> Mapping[str, bytes]:
    output, program = compilation.outputs[target], compilation.programs[target]
    identity = {
        "organisation": program.organisation,
        "environment": target.environment,
        "cluster": target.cluster,
        "target": target.backend,
        "engineVersion": program.engine_version,
    }
    return render_target(output, identity, formerly)
