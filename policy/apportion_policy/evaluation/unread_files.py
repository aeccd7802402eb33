"""Files in a policy's folder with declarations that its evaluation did not read.

A team file that is moved, or renamed so that no glob matches it, drops out of the policy without an error. So every
file below the entry's folder is searched as text, and one that looks like a part of a policy is reported: Python that
imports the policy API or a module of this policy and calls something at module level, or a document with a policy's
lists. Nothing is executed or parsed; folders with their own entry belong to another policy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apportion_policy.evaluation.tree import ENTRY_NAMES, PYTHON_SUFFIX, PolicyTree, is_within

MAX_FILES = 20_000
MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""Limits on the time for a policy at the top of a large repository."""

_MAX_BYTES = 256 * 1024
_SKIPPED_FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", ".venv", ".tox", ".nox", ".idea", ".vscode", ".history", ".ipynb_checkpoints"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__", "node_modules", "site-packages"),
    )
)
# Lock files of Emacs, and files that macOS creates on foreign volumes.
_NOT_WRITTEN_BY_PEOPLE = (".#", "._")
# Documentation quotes policies.
_PROSE = (".md", ".rst", ".adoc", ".html", ".ipynb", ".log")
_KEPT_BY_EDITORS = re.compile(r"\A(.+?)(~|\.bak|\.orig|\.rej|\.swp)\Z")
_LISTS = frozenset(("queues", "environments", "priority_classes", "node_pools", "provisioning_plans", "waivers"))
_VOCABULARY = frozenset(("apportion_policy",))
_ASSIGNED = r"^[A-Za-z_]\w*[ \t]*(?::[^=\n]{1,80})?=[ \t]*"
_IMPORT = re.compile(r"^(?:from|import)[ \t]+\.*([A-Za-z_]\w*)", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:async[ \t]+)?def[ \t]", re.MULTILINE)
_DECLARING_CALL = re.compile(
    r"\b(?:Queue|QueueOverride|NodePool|PriorityClass|ProvisioningPlan|Environment|Cluster|Override|Waiver)\("
)
# Two adjacent white space patterns would be matched in every combination, in quadratic time.
_CALL_AT_MODULE_LEVEL = re.compile(_ASSIGNED + r"(?:[\[({]\s*)?[A-Za-z_][\w.]*\(", re.MULTILINE)
_POLICY = re.compile(rf"(?:{_ASSIGNED}|^[ \t]+return[ \t]+)(?:\w+\.)?Policy\(", re.MULTILINE)
_YAML_KEY = re.compile(r"^([A-Za-z_$][\w$]*)[ \t]*:", re.MULTILINE)
_JSON_KEY = re.compile(r"\A\s*\{\s*\"(\w+)\"\s*:")


@dataclass(frozen=True, slots=True)
class UnreadFiles:
    """Unread files in a policy's folder.

    Attributes:
        files: Absolute paths of files that look like a part of the policy, in order.
        other_policies: Whether the entry's folder has other policies, to which these may belong.
        all_seen: Whether all files were searched within `MAX_FILES` and `MAX_TOTAL_BYTES`.
    """

    files: tuple[str, ...]
    other_policies: bool
    all_seen: bool


def unread_files(tree: PolicyTree, files: Iterable[str]) -> UnreadFiles:
    """Return the files that look like a part of a policy but were not read for it.

    Args:
        tree: The policy's entry and folder.
        files: Absolute paths of the files that its evaluation read.
    """
    folder = os.path.dirname(tree.entry)  # noqa: PTH120 - texts are compared.
    read = {os.path.realpath(file) for file in files}
    own = frozenset(_top_module(file, root) for file in read for root in (folder, tree.root) if is_within(file, root))
    unread: list[str] = []
    other_policies = False
    n_files = n_bytes = 0
    for path in _regular_files(folder):
        n_files += 1
        if n_files > MAX_FILES or n_bytes > MAX_TOTAL_BYTES:
            return UnreadFiles(tuple(sorted(unread)), other_policies, all_seen=False)
        if path in read or _is_copy(path, read):
            continue
        text = _text(path)
        n_bytes += len(text)
        if _is_entry(text):
            other_policies = other_policies or os.path.dirname(path) == folder  # noqa: PTH120
        elif _declares(text, own):
            unread.append(path)
    return UnreadFiles(tuple(sorted(unread)), other_policies, all_seen=True)


def _declares(text: str, own: frozenset[str]) -> bool:
    if _imports(text, _VOCABULARY) and _DECLARING_CALL.search(text) and not _FUNCTION.search(text):
        return True
    if _imports(text, _VOCABULARY | own) and _CALL_AT_MODULE_LEVEL.search(text):
        return True
    first = _JSON_KEY.match(text)
    keys = {first[1]} if first is not None else {line[1] for line in _YAML_KEY.finditer(text)}
    return bool(keys) and keys <= _LISTS


def _is_entry(text: str) -> bool:
    return _imports(text, _VOCABULARY) and _POLICY.search(text) is not None


def _imports(text: str, modules: frozenset[str]) -> bool:
    return any(found[1] in modules for found in _IMPORT.finditer(text))


def _top_module(file: str, root: str) -> str:
    return os.path.relpath(file, root).partition(os.sep)[0].removesuffix(PYTHON_SUFFIX)


def _is_copy(path: str, read: set[str]) -> bool:
    kept = _KEPT_BY_EDITORS.match(path)
    return kept is not None and kept[1] in read


def _regular_files(folder: str) -> Iterator[str]:
    """Yield the regular files below a folder, without following links or entering folders of other policies."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        if here != folder and any(_belongs_to_another(entry) for entry in found):
            continue
        for entry in found:
            if entry.name.startswith(_NOT_WRITTEN_BY_PEOPLE) or entry.name.lower().endswith(_PROSE):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def _belongs_to_another(entry: os.DirEntry[str]) -> bool:
    """Return whether a file makes its folder a virtual environment or another policy's."""
    if entry.name == "pyvenv.cfg":
        return True
    return entry.name in ENTRY_NAMES and (not entry.name.endswith(PYTHON_SUFFIX) or _is_entry(_text(entry.path)))


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - links are not followed.
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
