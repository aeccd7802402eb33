"""Rendered trees in an output folder: how they differ from a compilation, and how they are brought to it.

A file that Apportion did not write is not deleted, whatever the inventory beside it says: every file that Apportion
writes can be recognised by its content.
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
"""Bytes in which the mark stands: behind the comments that say what the file is for."""


@dataclass(frozen=True, slots=True)
class TreeChange:
    """How a target's folder differs from what it shall be; names are relative to the folder.

    Attributes:
        added: Files that are not there.
        changed: Files with other content.
        removed: Files that Apportion wrote and that are no part of the tree any more.
        foreign: Entries that Apportion did not write. They are kept.
        undeclared_deletions: Objects that the prune list names, and that nothing but the list says to delete.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    foreign: tuple[str, ...]
    undeclared_deletions: tuple[ObjectKey, ...] = ()

    @property
    def is_empty(self) -> bool:
        """No differences."""
        return not (self.added or self.changed or self.removed or self.foreign)


def former_objects(root: OutputFolder | None, tree: str) -> tuple[ObjectKey, ...]:
    """Return the objects of the tree in a folder, and those it still had to prune; none where there is no tree.

    Raises:
        ValueError: If the folder's inventory or prune list is not one.
        LinkedPathError: If one of them is a link.
        OSError: If one of them cannot be read.
    """
    if root is None:
        return ()
    return read_inventory(root.read(f"{tree}/{INVENTORY}"), root.read(f"{tree}/{PRUNE}"))


def objects_of_base(base: OutputFolder | None, root: OutputFolder | None, tree: str) -> tuple[ObjectKey, ...]:
    """Return the objects that a base revision's tree held, and those it still had to prune and this one lists.

    A prune list may lose an entry, once the object is deleted, and gains none that the base revision did not hold.

    Raises:
        ValueError: If an inventory or a prune list is not one.
        LinkedPathError: If one of them is a link.
        OSError: If one of them cannot be read.
    """
    if base is None:
        return ()
    listed = () if root is None else pruned_objects(root.read(f"{tree}/{PRUNE}"))
    held = held_objects(base.read(f"{tree}/{INVENTORY}"))
    known = {*held, *pruned_objects(base.read(f"{tree}/{PRUNE}"))}
    # What is listed keeps its order, which depends on how often the branch was compiled.
    ordered = [key for key in reversed(listed) if key in known]
    return tuple(dict.fromkeys((*(key for key in held if key not in ordered), *ordered)))


def compare_tree(root: OutputFolder | None, tree: str, files: Mapping[str, bytes]) -> TreeChange:
    """Return how a tree differs from the given files.

    Raises:
        LinkedPathError: If there are more entries than any tree has.
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
        # The file itself is reported as one that differs.
        return ()
    meant = set(pruned_objects(files.get(PRUNE)))
    return tuple(key for key in listed if key not in meant)


def stage_tree(root: OutputFolder, tree: str, files: Mapping[str, bytes], change: TreeChange) -> None:
    """Stage what a tree lacks. The inventory goes last: until it is there, the former one holds.

    Raises:
        LinkedPathError: If a folder of the tree is a link, or a folder stands where a file belongs.
        OSError: If a file cannot be written.
    """
    for name in sorted((*change.added, *change.changed), key=lambda name: name == INVENTORY):
        root.stage(f"{tree}/{name}", files[name])


def remove_former_files(root: OutputFolder, tree: str, change: TreeChange) -> None:
    """Delete the files of an earlier tree."""
    for name in change.removed:
        root.remove(f"{tree}/{name}")


def entries_outside(root: OutputFolder | None, trees: Iterable[str]) -> tuple[str, ...]:
    """Return what lies in the output folder and in none of the trees, a line for each folder of one target."""
    if root is None:
        return ()
    known = tuple(f"{tree}/" for tree in trees)
    unknown = (name for name in root.files() if not name.startswith(known))
    return tuple(dict.fromkeys("/".join(name.split("/")[:3]) for name in unknown))


def is_generated(content: bytes | None) -> bool:
    """Tell whether Apportion wrote a file, by its content; None is a link or what is no file."""
    if content is None:
        return False
    head = content[:_MAX_MARK_OFFSET]
    return _MARK in head or _MARK_OF_JSON in head or _KINDS.fullmatch(content) is not None or not content


def _content(root: OutputFolder, name: str, at_most: int) -> bytes | None:
    try:
        return root.read(name, at_most)
    except LinkedPathError:
        return None
