"""The files that `--manifests` and `import` read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apportion_cli.bounded_text import UnreadableFileError, content_of
from apportion_cli.errors import PreconditionError

if TYPE_CHECKING:
    from apportion_cli.sources import Sources
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_compiler.manifests.located_manifest import LocatedManifest
    from apportion_compiler.manifests.manifest_parser import ManifestFile

_MOST_EXPORTED_BYTES = 1024**3
STDIN = "-"
STDIN_NAME = "<stdin>"
_SUFFIXES = (".yaml", ".yml", ".json")


def read_files(paths: Sequence[str], sources: Sources) -> Iterator[tuple[str, ManifestFile]]:
    """Yield each file's name and content; `sources` caches the texts for excerpts.

    Raises:
        PreconditionError: If a path cannot be read.
    """
    from apportion_compiler.manifests.manifest_parser import ManifestFile, read_manifests, unreadable
    from apportion_policy.documents import MAX_DOCUMENT_BYTES

    seen: set[str] = set()
    for path in paths:
        for file in files_of(path):
            name = STDIN_NAME if file == STDIN else sources.name_of(os.path.abspath(file))  # noqa: PTH100
            if name in seen:
                continue
            seen.add(name)
            try:
                content = _bytes(file, MAX_DOCUMENT_BYTES)
            except UnreadableFileError as wrong:
                yield name, ManifestFile(faults=(unreadable(name, f"the file cannot be read: {wrong}"),))
                continue
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError as undecodable:
                line = content[: undecodable.start].count(b"\n") + 1
                message = f"invalid UTF-8 at byte offset {undecodable.start}"
                yield name, ManifestFile(faults=(unreadable(name, message, line),))
                continue
            sources.hold(name, text)
            yield name, read_manifests(text, name)


def objects_of(path: str) -> list[LocatedManifest]:
    """Return the objects of one file, with a `List` split into its items.

    Raises:
        PreconditionError: If it cannot be read, or at the first line that is not an object.
    """
    if Path(path).is_dir():
        raise PreconditionError(f"{path} is a directory; pass a file")
    from apportion_cli.sources import Sources

    ((_, read),) = read_files((path,), Sources(Path.cwd(), None))
    name = STDIN_NAME if path == STDIN else path
    if read.faults:
        fault = read.faults[0]
        raise PreconditionError(_fault_text(fault, name))
    if read.others:
        raise PreconditionError(f"{name}:{read.others[0]}: not a Kubernetes object: apiVersion or kind is missing")
    if not read.objects:
        raise PreconditionError(f"{name} is empty")
    return list(read.objects)


def read_objects(paths: Sequence[str]) -> list[Mapping[str, object]]:
    """Return the objects of exports: output of `kubectl get … -o json`, or YAML.

    Raises:
        PreconditionError: If a file cannot be read, or has no objects.
    """
    found: list[Mapping[str, object]] = []
    for path in paths:
        for file in files_of(path):
            name = STDIN_NAME if file == STDIN else file
            try:
                found += _exported(_bytes(file, _MOST_EXPORTED_BYTES), name)
            except UnreadableFileError as wrong:
                raise PreconditionError(f"the export {name} cannot be read: {wrong}") from None
    return found


def _exported(content: bytes, name: str) -> list[Mapping[str, object]]:
    import json

    from apportion_compiler.manifests.manifest_parser import read_manifests

    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        read = read_manifests(_text(content, name), name)
        if read.faults:
            raise PreconditionError(_fault_text(read.faults[0], name)) from None
        if not read.objects:
            raise PreconditionError(_no_objects(content, name)) from None
        return [placed.manifest for placed in read.objects]
    listed = document.get("items", [document]) if isinstance(document, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) and "kind" in one for one in listed):
        raise PreconditionError(_no_objects(content, name))
    for n, one in enumerate(listed):
        if not isinstance(one["kind"], str):
            raise PreconditionError(
                f"{name}: items[{n}].kind is not a string; export it again with `kubectl get … -o json`"
            )
    return listed


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as undecodable:
        raise PreconditionError(
            f"{name} is not UTF-8 text: invalid byte at offset {undecodable.start}; export it with `kubectl get … -o json`"
        ) from None


def _fault_text(fault: Diagnostic, name: str) -> str:
    at = ":".join((name, *(str(n) for n in (fault.at.line, fault.at.column and fault.at.column + 1) if n)))
    return f"{at}: {fault.message}; {fault.hint}" if fault.hint else f"{at}: {fault.message}"


def _no_objects(content: bytes, name: str) -> str:
    what = "contains no Kubernetes objects" if content.strip() else "is empty"
    return f"{name} {what}; export it with `kubectl get … -o json`"


def files_of(path: str) -> list[str]:
    """Return the files of a path: itself, or the YAML and JSON files below a directory, without hidden ones.

    Raises:
        PreconditionError: If the path does not exist.
    """
    # A pipe is a file too, such as that of a shell's <(kubectl get …).
    if path == STDIN or (Path(path).exists() and not Path(path).is_dir()):
        return [path]
    if not Path(path).is_dir():
        raise PreconditionError(f"{path} is not a readable file or directory")
    root = os.path.realpath(path)
    found: list[str] = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = os.path.join(folder, name)  # noqa: PTH118
            # A link that points outside the folder is not part of it.
            if name.endswith(_SUFFIXES) and not name.startswith(".") and _is_within(file, root):
                found.append(file)
    if not found:
        raise PreconditionError(f"the directory {path} contains no YAML or JSON files")
    return found


def _is_within(file: str, root: str) -> bool:
    real = os.path.realpath(file)
    return Path(real).is_file() and os.path.commonpath((real, root)) == root


def _bytes(file: str, at_most: int) -> bytes:
    try:
        if file != STDIN:
            return content_of(file, at_most)
        content = sys.stdin.buffer.read(at_most + 1)
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from refused
    if len(content) > at_most:
        raise UnreadableFileError(f"it exceeds the limit of {at_most} bytes")
    return content
