"""Rendered trees in an output folder: comparison with a compilation, and updates.

A file that Apportion did not generate is never deleted, regardless of the inventory: generated files are recognised by
their content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.emit.output_folder import LinkedPathError, OutputFolder
from apportion_compiler.emit.tree import (
    API_VERSION,
    INVENTORY,
    PRUNE,
    ObjectKey,
    held_objects,
    pruned_objects,
    read_inventory,
)

_MARK = GENERATED.encode()
_MARK_OF_JSON = f'"apiVersion": "{API_VERSION}"'.encode()
_KINDS = re.compile(rb"(?:[a-z0-9.-]+/v[a-z0-9]+/[A-Z][A-Za-z0-9]+\n)+")
_MAX_ALLOWLIST_BYTES = 1024**2
_MAX_MARK_OFFSET = 2048
"""Number of bytes to search for the header, which follows the comments about the file's purpose."""


@dataclass(frozen=True, slots=True)
class TreeChange:
    """The differences of a target's folder from the desired files; names are relative to the folder.

    Attributes:
        added: Files that do not exist.
        changed: Files with different content.
        removed: Generated files that are no longer part of the tree.
        foreign: Entries that Apportion did not generate, which are kept.
        undeclared_deletions: Objects in the prune list that no earlier tree contained.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    foreign: tuple[str, ...]
    undeclared_deletions: tuple[ObjectKey, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there are no differences."""
        return not (self.added or self.changed or self.removed or self.foreign)


def former_objects(root: OutputFolder | None, tree: str) -> tuple[ObjectKey, ...]:
    """Return the objects of the tree in a folder and of its prune list; none if there is no tree.

    Raises:
        ValueError: If the folder's inventory or prune list is invalid.
        LinkedPathError: If one of them is a link.
        OSError: If one of them cannot be read.
    """
    if root is None:
        return ()
    return read_inventory(root.read(f"{tree}/{INVENTORY}"), root.read(f"{tree}/{PRUNE}"))


def objects_of_base(base: OutputFolder | None, root: OutputFolder | None, tree: str) -> tuple[ObjectKey, ...]:
    """Return the objects of a base revision's tree, and those of its prune list that are still listed.

    A prune list may lose an entry, once the object is deleted, and gains only objects of the base revision.

    Raises:
        ValueError: If an inventory or a prune list is invalid.
        LinkedPathError: If one of them is a link.
        OSError: If one of them cannot be read.
    """
    if base is None:
        return ()
    listed = () if root is None else pruned_objects(root.read(f"{tree}/{PRUNE}"))
    held = held_objects(base.read(f"{tree}/{INVENTORY}"))
    known = {*held, *pruned_objects(base.read(f"{tree}/{PRUNE}"))}
    # Listed objects keep their order, which depends on earlier compilations of the branch.
    ordered = [key for key in reversed(listed) if key in known]
    return tuple(dict.fromkeys((*(key for key in held if key not in ordered), *ordered)))


def compare_tree(root: OutputFolder | None, tree: str, files: Mapping[str, bytes]) -> TreeChange:
    """Return how a tree differs from the given files.

    Raises:
        LinkedPathError: If there are too many entries.
        OSError: If a file cannot be read.
    """
    if root is None:
        return TreeChange(tuple(files), (), (), ())
    present = [name.removeprefix(f"{tree}/") for name in root.files(tree)]
    there = {name: _content(root, f"{tree}/{name}", len(files[name]) + 1) for name in present if name in files}
    unwanted = {
        name: is_generated(_content(root, f"{tree}/{name}", _MAX_ALLOWLIST_BYTES))
        for name in present
        if name not in files
    }
    return TreeChange(
        added=tuple(name for name in files if name not in there),
        changed=tuple(name for name, content in files.items() if name in there and there[name] != content),
        removed=tuple(name for name, generated in unwanted.items() if generated),
        foreign=tuple(name for name, generated in unwanted.items() if not generated),
        undeclared_deletions=_undeclared_deletions(root, tree, files),
    )


def _undeclared_deletions(root: OutputFolder, tree: str, files: Mapping[str, bytes]) -> tuple[ObjectKey, ...]:
    try:
        listed = pruned_objects(root.read(f"{tree}/{PRUNE}"))
    except (LinkedPathError, ValueError):
        # The prune list itself is reported as a changed file.
        return ()
    meant = set(pruned_objects(files.get(PRUNE)))
    return tuple(key for key in listed if key not in meant)


def stage_tree(root: OutputFolder, tree: str, files: Mapping[str, bytes], change: TreeChange) -> None:
    """Stage the missing and changed files of a tree.

    The inventory is written last: until then, the previous one applies.

    Raises:
        LinkedPathError: If a folder of the tree is a link, or a folder exists where a file is expected.
        OSError: If a file cannot be written.
    """
    for name in sorted((*change.added, *change.changed), key=lambda name: name == INVENTORY):
        root.stage(f"{tree}/{name}", files[name])


def remove_former_files(root: OutputFolder, tree: str, change: TreeChange) -> None:
    """Delete the files of an earlier tree."""
    for name in change.removed:
        root.remove(f"{tree}/{name}")


def entries_outside(root: OutputFolder | None, trees: Iterable[str]) -> tuple[str, ...]:
    """Return the entries of the output folder that belong to no tree, one line for each folder of a target."""
    if root is None:
        return ()
    known = tuple(f"{tree}/" for tree in trees)
    unknown = (name for name in root.files() if not name.startswith(known))
    return tuple(dict.fromkeys("/".join(name.split("/")[:3]) for name in unknown))


def is_generated(content: bytes | None) -> bool:
    """Return whether a file is generated, judging by its content; None is a link or not a file."""
    if content is None:
        return False
    head = content[:_MAX_MARK_OFFSET]
    return _MARK in head or _MARK_OF_JSON in head or _KINDS.fullmatch(content) is not None or not content


def _content(root: OutputFolder, name: str, at_most: int) -> bytes | None:
    try:
        return root.read(name, at_most)
    except LinkedPathError:
        return None
