"""Writes the decision log: a record for each cycle, in files of bounded size and number.

Only objects that changed since the last cycle are written, and all of them at the beginning of a file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from apportion_runtime.core.session import Session
from apportion_runtime.kube.cluster import Manifest, ObjectKey
from apportion_runtime.kube.metrics import scheduler_version
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.snapshots.decision_log import DecisionLogError, Key, cycle_number, key_of
from apportion_runtime.snapshots.decisions import decisions_document

MOST_BYTES = 64 * 1024**2
"""The size of a file after which the next record begins another one."""
MOST_FILES = 4


class DecisionLogWriter:
    """Appends to a file, which is renamed to FILE.1, FILE.2 and so on when it is full.

    Args:
        path: The file.
        most_bytes: The size after which the next record begins another file.
        most_files: The number of files that are kept, with the current one.

    Raises:
        DecisionLogError: If the file exists and is not a decision log, or cannot be read.
    """

    def __init__(self, path: Path, *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._before: dict[ObjectKey, Manifest | None] = {}
        """The objects that changed since the last record, as they were in it."""
        self._is_full_due = True
        self._number = self._last_number()
        self.fault: str | None = None
        """Why the last record could not be written."""

    def record(
        self,
        objects: ObjectStore,
        *,
        now: float,
        shard: str | None,
        protected: Collection[str],
        session: Session,
    ) -> None:
        """Append a cycle.

        Args:
            objects: The objects that it read.
            now: Its time, in seconds since 1970.
            shard: Its SchedulingShard.
            protected: Jobs that were not to be evicted.
            session: The session after its actions, before its decisions are carried out.
        """
        for kind, key, before, _ in objects.changes(self):
            self._before.setdefault((kind, key), before)
        try:
            if self._path.exists() and self._path.stat().st_size >= self._most_bytes:
                self._rotate()
                self._is_full_due = True
            is_full = self._is_full_due
            record = {
                "cycle": self._number + 1,
                "version": scheduler_version(),
                "at": now,
                "shard": shard,
                "protected": sorted(protected),
                "full": is_full,
                "objects": sorted(map(_stripped, objects.objects() if is_full else self._changed(objects)), key=key_of),
                "removed": [] if is_full else sorted(self._removed(objects)),
                "decisions": decisions_document(session),
            }
            self._is_full_due = True
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._before, self._is_full_due = {}, False
            self._number, self.fault = self._number + 1, None
        except OSError as refused:
            # Scheduling goes on; the next record has all objects, in a line of its own.
            self.fault = f"{self._path}: {refused.strerror}"
            self._end_line()

    def _changed(self, objects: ObjectStore) -> Iterator[Manifest]:
        for (kind, key), before in self._before.items():
            after = objects.of(kind).get(key)
            if after is not None and after is not before and after != before:
                yield after

    def _removed(self, objects: ObjectStore) -> Iterator[Key]:
        for (kind, key), before in self._before.items():
            if before is not None and key not in objects.of(kind):
                yield kind, *key

    def _rotate(self) -> None:
        for number in range(self._most_files - 1, 0, -1):
            source = self._path if number == 1 else self._numbered(number - 1)
            if source.exists():
                source.replace(self._numbered(number))
        if self._most_files == 1:
            self._path.unlink()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _end_line(self) -> None:
        try:
            with self._path.open("r+b") as file:
                content = file.read()
                # An incomplete record would make the next one unreadable.
                file.truncate(content.rfind(b"\n") + 1)
        except OSError:
            return

    def _last_number(self) -> int:
        last = 0
        try:
            if not self._path.exists():
                first = self._numbered(1)
                return _last_in(first) if first.exists() else last
            if self._path.is_dir():
                raise DecisionLogError(
                    f"{self._path} is a directory; add a file name, as in {self._path / 'decisions.log'}"
                )
            if not self._path.is_file():
                # A device or a pipe would be read without end.
                raise DecisionLogError(f"{self._path} is not a regular file; choose another file")
            last = _last_in(self._path)
        except (OSError, UnicodeDecodeError) as wrong:
            raise DecisionLogError(
                f"{self._path} cannot be read: {getattr(wrong, 'strerror', 'not UTF-8 text')}"
            ) from None
        self._end_line()
        return last


def _last_in(path: Path) -> int:
    last = 0
    with path.open(encoding="utf-8") as file:
        for at, line in enumerate(file, start=1):
            number = cycle_number(line)
            if number is None and line.endswith("\n"):
                raise DecisionLogError(f"{path}:{at}: not a decision log record; choose another file")
            if line.endswith("\n"):
                last = number or last
    return last


def _stripped(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without the field managers, which decide nothing and are half of its size."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    return {**manifest, "metadata": metadata}
