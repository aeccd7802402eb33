"""Rendered trees on disk: compare, write what differs, remove what an earlier compile wrote and this one did not.

Nothing that apportion did not write is touched. A file is replaced whole (written beside and renamed), so an
interruption leaves each file either as it was or as it shall be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from apportion_compiler.emit.tree import ALLOWLIST, INVENTORY, KUSTOMIZATION, PRUNE, ObjectKey, read_inventory

_OWN = (KUSTOMIZATION, INVENTORY, ALLOWLIST, PRUNE)


@dataclass(frozen=True, slots=True)
class TreeChange:
    """How a target's folder differs from what it shall be; names are relative to the folder."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Nothing to do."""
        return not (self.added or self.changed or self.removed)


def former_objects(folder: Path) -> tuple[ObjectKey, ...]:
    """Return the objects of the tree in a folder; none where there is no tree.

    Raises:
        ValueError: If the folder's inventory is not one.
    """
    return read_inventory(_read(folder / INVENTORY), _read(folder / PRUNE))


def compare(folder: Path, files: Mapping[str, bytes]) -> TreeChange:
    """Return what writing the files would change."""
    present = {name: _read(folder / name) for name in files}
    stale = [name for name in _written_before(folder) if name not in files and (folder / name).is_file()]
    return TreeChange(
        tuple(name for name, content in present.items() if content is None),
        tuple(name for name, content in present.items() if content is not None and content != files[name]),
        tuple(stale),
    )


def write(folder: Path, files: Mapping[str, bytes]) -> TreeChange:
    """Bring a folder to the given files and return what changed.

    Raises:
        OSError: If the folder cannot be written.
    """
    change = compare(folder, files)
    # The inventory goes last: until it is there, the next run still knows what the last whole one wrote.
    for name in sorted((*change.added, *change.changed), key=lambda name: name == INVENTORY):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(files[name])
        partial.replace(path)
    for name in change.removed:
        (folder / name).unlink()
        _remove_empty((folder / name).parent, folder)
    return change


def _remove_empty(directory: Path, top: Path) -> None:
    if directory != top and not any(directory.iterdir()):
        directory.rmdir()


def _written_before(folder: Path) -> list[str]:
    inventory = _read(folder / INVENTORY)
    if inventory is None:
        return []
    try:
        names = [str(name) for name in json.loads(inventory).get("files", [])]
    except ValueError:
        return []
    # An inventory is a file anybody may edit: a name that leads out of the folder is not ours to delete.
    inside = [name for name in names if not name.startswith("/") and ".." not in Path(name).parts]
    return [*inside, *_OWN]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
