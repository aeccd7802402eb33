"""Collect the declarations of one type from all modules in a folder and its subfolders, so that each team owns a file.

Modules are executed in path order. A module that declares nothing of the requested type is an error. Files whose names
begin with an underscore are helpers: they are executed, but must not contain declarations of the type.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from apportion_policy.declaration import Declaration
from apportion_policy.errors import CollectError
from apportion_policy.evaluation.sanitized_text import is_utf8, plain_text

T = TypeVar("T", bound=Declaration)

_SUFFIX = ".py"
_PACKAGE = "__init__.py"
# Lock files of Emacs, and files that macOS creates on foreign volumes.
_NOT_WRITTEN_BY_PEOPLE = (".#", "._")


def collect(folder: str, kind: type[T]) -> tuple[T, ...]:
    """Return the module-level declarations of one type in the Python files of a folder and its subfolders.

    Args:
        folder: Relative to the calling file.
        kind: The class of the declarations, such as `Queue`.

    Returns:
        Ordered by path, then by position in the file. The elements of module-level lists and tuples are included; an
        object with several names is included once.

    Raises:
        CollectError: If the folder does not exist, a file declares nothing of the type, a helper file declares
            something of the type, or the folder contains a symbolic link to a folder or a Python file with an
            unsupported suffix.
    """
    author = Path(sys._getframe(1).f_code.co_filename).resolve()
    directory = author.parent / folder
    if not directory.is_dir():
        raise CollectError(f"collect: the folder {folder} does not exist next to {author.name}")
    files = sorted(_python_files(directory, folder))
    if not any(not file.name.startswith("_") for file in files):
        raise CollectError(f"collect: the folder {folder} contains no Python files")
    found: list[T] = []
    for file in files:
        name = f"{folder}/{file.relative_to(directory).as_posix()}"
        declared = _declared(_load(file, author.parent), kind)
        if file.name.startswith("_"):
            if declared:
                fix = (
                    "move it to a file with a different name"
                    if file.name == _PACKAGE
                    else f"rename it to {_public(file)}"
                )
                raise CollectError(
                    f"collect: {name} declares a {kind.__name__}, but files whose names begin with _ are not "
                    f"collected: {fix}"
                )
        elif not declared:
            raise CollectError(f"collect: {name} declares no {kind.__name__} at module level")
        found += declared
    return tuple({id(declaration): declaration for declaration in found}.values())


def _python_files(directory: Path, folder: str) -> Iterator[Path]:
    """Yield the Python files below a folder, without hidden files."""
    for path, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        for name in folders:
            if Path(path, name).is_symlink():
                shown = Path(folder, os.path.relpath(path, directory), name).as_posix()
                raise CollectError(
                    f"collect: {shown} is a symbolic link to a folder, and links are not followed: move the folder here"
                )
        for name in names:
            file = Path(path, name)
            if name.startswith(_NOT_WRITTEN_BY_PEOPLE):
                continue
            if name.lower().endswith(_SUFFIX) and (name.startswith(".") or not name.endswith(_SUFFIX)):
                shown = Path(folder, os.path.relpath(file, directory)).as_posix()
                meant = name.lstrip(".")[: -len(_SUFFIX)] + _SUFFIX
                raise CollectError(f"collect: {shown} is not read: rename it to {meant}, or remove it")
            if name.endswith(_SUFFIX):
                if not is_utf8(str(file)):
                    shown = plain_text(Path(folder, os.path.relpath(file, directory)).as_posix())
                    raise CollectError(f"collect: the name of {shown} is not valid UTF-8: rename the file")
                if not file.is_file():
                    raise CollectError(
                        f"collect: {folder}/{file.relative_to(directory).as_posix()} is not a regular file"
                    )
                yield file


def _public(file: Path) -> str:
    return file.name.lstrip("_")


def _load(file: Path, root: Path) -> ModuleType:
    """Execute a file under the module name by which other files import it, so that it runs only once."""
    name = ".".join(file.relative_to(root).with_suffix("").parts) if file.is_relative_to(root) else file.stem
    name = name.removesuffix(".__init__")
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return loaded
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CollectError(f"collect: {file.name} cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _declared(module: ModuleType, kind: type[T]) -> list[T]:
    declared: list[T] = []
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        candidates = value if isinstance(value, list | tuple) else (value,)
        declared += [c for c in candidates if isinstance(c, kind) and _written_in(module, c)]
    return declared


def _written_in(module: ModuleType, declaration: Declaration) -> bool:
    """Return whether this module created the declaration, directly or through a helper, rather than importing it."""
    source = declaration.source
    return module.__file__ in (source.file, *(caller.file for caller in source.callers))
