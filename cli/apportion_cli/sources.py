"""The author's files: their names in findings, and whether they may be shown or changed.

The locations that a policy reports are untrusted, so lines are quoted only from the policy's own files.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apportion_policy.evaluation.tree import PolicyTree

_MAX_QUOTED_BYTES = 32 * 1024 * 1024


class Sources:
    """The files of one policy.

    Findings name them relative to `root`, with forward slashes; other files by absolute path.
    """

    def __init__(self, root: Path, tree: PolicyTree | None) -> None:
        self.root = root
        self._tree = tree
        self._texts: dict[str, str | None] = {}

    def name_of(self, file: str) -> str:
        """Return the name for an absolute path."""
        path = Path(file)
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else file

    def path(self, name: str) -> Path:
        """Return the absolute path for a name."""
        return self.root / name

    def read(self, name: str) -> str | None:
        """Return the text of a file with its line ends; None if it does not belong to the policy or is not UTF-8."""
        if name not in self._texts:
            self._texts[name] = self._read(self.path(name))
        return self._texts[name]

    def hold(self, name: str, text: str) -> None:
        """Set the text of a file that was read elsewhere."""
        self._texts[name] = text

    def forget(self) -> None:
        """Clear the cache of file texts."""
        self._texts.clear()

    def near(self, name: str) -> str:
        """Return the displayed name of a file: relative to the current directory if it is nearby."""
        if name.startswith("<"):
            return name
        path = self.path(name)
        relative = os.path.relpath(path)
        is_near = not relative.startswith("../" if Path(name).is_absolute() else "../../../")
        return relative if is_near else str(path)

    def in_repository(self, name: str) -> str:
        """Return the name of a file relative to the repository's root, as code review tools require."""
        path = self.path(name)
        return path.relative_to(self._repository).as_posix() if path.is_relative_to(self._repository) else name

    @cached_property
    def _repository(self) -> Path:
        return next((above for above in (self.root, *self.root.parents) if (above / ".git").exists()), self.root)

    def _read(self, path: Path) -> str | None:
        if self._tree is None or not self._tree.contains(str(path)):
            return None
        try:
            if path.stat().st_size > _MAX_QUOTED_BYTES:
                return None
            return path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
