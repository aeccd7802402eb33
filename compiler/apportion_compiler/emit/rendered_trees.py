"""The rendered trees of a compilation: compared with an output folder, and written into it together."""

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
"""From a tree's folder below the output folder to the objects of an earlier tree there."""


@dataclass(frozen=True, slots=True)
class RenderedTree:
    """A target's tree: its folder below the output folder, its files, and how the folder differs from them."""

    target: Target
    name: str
    files: Mapping[str, bytes]
    change: TreeChange


def tree_of(target: Target) -> str:
    """Return the folder of a target's tree below the output folder.

    Raises:
        ValueError: If a name holds a `/`, and so would be more than one folder.
    """
    parts = (target.environment, target.cluster, target.backend)
    for part in parts:
        if "/" in part:
            raise ValueError(f"`{part}` cannot name a folder: it contains a `/`")
    return "/".join(parts)


def rendered_trees(
    compilation: Compilation, root: OutputFolder | None, *, former: Former | None = None
) -> tuple[RenderedTree, ...]:
    """Return the tree of each target.

    Args:
        compilation: What was compiled.
        root: The output folder; None where there is none yet.
        former: Where earlier objects are looked up; the output folder itself when left out.

    Raises:
        ValueError: If an earlier tree's inventory is not one.
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
    """Bring the output folder to the trees: all files or, where one cannot be written, none.

    Raises:
        LinkedPathError: If a folder of a tree is a link, or a folder stands where a file belongs.
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
