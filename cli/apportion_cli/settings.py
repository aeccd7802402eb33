"""Settings of a project: the nearest `apportion.toml`, or `pyproject.toml` with a table `[tool.apportion]`.

The file is part of a pull request, so settings that affect the result of a check (`AFFECTING`) are not read from the
working tree. They come from flags, from variables named `APPORTION_…`, or from the file in a revision (`--settings-from`).
An output in the file is a format and never a file name. The file is optional.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from apportion_cli.base_revision import commit_of, read_file, repository_root
from apportion_cli.bounded_text import UnreadableFileError, content_found
from apportion_cli.errors import PreconditionError

FILE_NAME = "apportion.toml"
KEYS: Mapping[str, str] = {
    "policy": "the policy's file or directory",
    "env": "environments for `validate` and `compile`",
    "output": "output formats of `validate`",
    "fail-on": "lowest severity that causes exit code 1",
    "time-limit": "time limit for evaluating a policy, in seconds",
    "memory-limit": "memory limit for evaluating a policy",
    "reserved-namespaces": "namespaces that queues must not use, in addition to the built-in ones",
    "weaker-enforcement": "environments and clusters that may enforce less than the policy requires",
    "color": "whether text is coloured",
}
AFFECTING = ("policy", "env", "fail-on", "time-limit", "memory-limit", "reserved-namespaces", "weaker-enforcement")
"""Keys that determine what is checked, or how strictly."""
_LISTS = ("env", "output", "reserved-namespaces", "weaker-enforcement")
# Formats differ between commands, and only these accept several environments.
_ONLY_FOR = {"output": ("validate",), "env": ("validate", "compile")}
_MAX_BYTES = 1024**2
_PARAMETERS = {"output": "outputs"}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its source: a file, or a variable as `$NAME`."""

    key: str
    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in the project's file. `file` is None if there is none."""

    file: Path | None = None
    settings: tuple[Setting, ...] = ()

    def defaults(self, command: str) -> dict[str, Any]:
        """Return click's defaults for a command, by parameter name."""
        return {
            _PARAMETERS.get(setting.key, setting.key.replace("-", "_")): setting.value
            for setting in self.settings
            if command in _ONLY_FOR.get(setting.key, (command,))
        }

    def affecting(self, command: str) -> tuple[Setting, ...]:
        """Return the settings that affect the result of a check."""
        return tuple(
            setting
            for setting in self.settings
            if setting.key in AFFECTING and command in _ONLY_FOR.get(setting.key, (command,))
        )

    def without_affecting(self) -> Settings:
        """Return the settings that may be read from a working tree."""
        return replace(self, settings=tuple(s for s in self.settings if s.key not in AFFECTING))


def read_settings(folder: Path | None = None) -> Settings:
    """Read the nearest settings file at or above a directory, at most up to the root of the repository.

    Raises:
        PreconditionError: If the file is not TOML or cannot be read.
        click.UsageError: If it has an invalid setting.
    """
    start = folder or Path.cwd()
    for above in (start, *start.parents):
        for name, table in ((FILE_NAME, ()), ("pyproject.toml", ("tool", "apportion"))):
            values = _read(above / name, table)
            if values is not None:
                file = above / name
                return Settings(file, tuple(_setting(key, value, file) for key, value in values.items()))
        if (above / ".git").exists():
            break
    return Settings()


def read_settings_at(ref: str, folder: Path | None = None) -> Settings:
    """Read the nearest settings file in a revision of the repository.

    Raises:
        PreconditionError: If there is no repository or no such revision, or the file is not TOML.
        click.UsageError: If the file has an invalid setting.
    """
    start = folder or Path.cwd()
    root = repository_root(start)
    if root is None:
        raise PreconditionError(f"{start} is not in a git repository, so there is no revision `{ref}`")
    commit = commit_of(root, ref)
    for above in (start, *start.parents):
        for name, table in ((FILE_NAME, ()), ("pyproject.toml", ("tool", "apportion"))):
            path = (above / name).relative_to(root).as_posix()
            text = read_file(root, commit, path)
            values = None if text is None else _table(text, table, f"{path} at {ref}")
            if values is not None:
                file = above / name
                return Settings(file, tuple(_setting(key, value, file, ref) for key, value in values.items()))
        if above == root:
            break
    return Settings()


def settings_of(ref: str | None) -> tuple[Settings, Settings]:
    """Return the settings in effect, and all settings in the working tree's file.

    Raises:
        PreconditionError: If a file cannot be read, or there is no such revision.
        click.UsageError: If a file has an invalid setting.
    """
    in_tree = read_settings()
    return in_tree.without_affecting() if ref is None else read_settings_at(ref), in_tree


def settings_in_force(settings: Settings, environment: Mapping[str, str]) -> tuple[Setting, ...]:
    """Return each setting that differs from its default, with its source; variables take precedence over the file."""
    by_key = {setting.key: setting for setting in settings.settings}
    for key in KEYS:
        name = variable(key)
        if environment.get(name):
            by_key[key] = Setting(key, environment[name], f"${name}")
    return tuple(by_key[key] for key in KEYS if key in by_key)


def variable(key: str) -> str:
    """Return the name of the variable for a setting: `APPORTION_FAIL_ON`."""
    return "APPORTION_" + key.replace("-", "_").upper()


def _read(file: Path, table: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        if file.is_dir():
            return None
        text = content_found(file, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnreadableFileError as wrong:
        raise PreconditionError(f"{file} cannot be read: {wrong}") from None
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from refused
    return _table(text, table, str(file))


def _table(text: bytes, table: tuple[str, ...], source: str) -> dict[str, Any] | None:
    # Parsing TOML takes longer than the rest of the startup, and most pyproject.toml files have no settings of
    # apportion.
    if table and table[-1].encode() not in text:
        return None
    import tomllib

    try:
        values: Any = tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as malformed:
        raise PreconditionError(f"{source} is not valid TOML: {malformed}") from malformed
    for name in table:
        values = values.get(name) if isinstance(values, dict) else None
    return values if isinstance(values, dict) else None


def _setting(key: str, value: Any, file: Path, ref: str | None = None) -> Setting:
    if key not in KEYS:
        raise click.UsageError(f"{file}: unknown setting `{key}`; choose one of {', '.join(KEYS)}")
    if key in _LISTS:
        value = tuple(value) if isinstance(value, list) else (value,)
    parts = value if isinstance(value, tuple) else (value,)
    if key == "color":
        if not isinstance(value, bool):
            raise click.UsageError(f"{file}: `color` must be true or false")
    elif not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts):
        kind = "a string or a list of strings" if key in _LISTS else "a string or a number"
        raise click.UsageError(f"{file}: `{key}` ({KEYS[key]}) must be {kind}")
    if key == "output" and any("=" in str(part) for part in parts):
        raise click.UsageError(f"{file}: `output` must be a format; set the output file on the command line")
    if key == "policy":
        value = _inside(str(value), file)
    return Setting(key, value, str(file) if ref is None else f"{file} at {ref}")


def _inside(policy: str, file: Path) -> str:
    folder = file.parent
    named = Path(os.path.normpath(folder / policy))
    if not named.is_relative_to(folder):
        raise click.UsageError(f"{file}: `policy` points outside this file's directory")
    return os.path.relpath(named)
