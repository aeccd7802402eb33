"""One team, one file: gather the declarations of every module in a folder, explicitly and by type.

Nothing is hidden: modules are executed in name order, an exception in one is that module's own, and a module that
declares nothing of the wanted type is an error rather than silence.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from apportion_policy.declaration import Declaration
from apportion_policy.errors import CollectError

T = TypeVar("T", bound=Declaration)


def collect(folder: str, kind: type[T]) -> tuple[T, ...]:
    """Return every declaration of a type that stands at module level in the folder's Python files.

    Args:
        folder: Relative to the file that calls this.
        kind: The class of declaration wanted, such as `Queue`.

    Returns:
        In order of file name, then of appearance in the file; a list or tuple at module level counts for its
        elements; one object named twice counts once.

    Raises:
        CollectError: If the folder does not exist, or a file in it declares none.
    """
    caller = Path(sys._getframe(1).f_code.co_filename).resolve().parent
    directory = caller / folder
    if not directory.is_dir():
        raise CollectError(
            f"collect: there is no folder {folder} beside {Path(sys._getframe(1).f_code.co_filename).name}"
        )
    files = [file for file in sorted(directory.glob("*.py")) if not file.name.startswith("_")]
    if not files:
        raise CollectError(f"collect: the folder {folder} holds no Python file")
    found: list[T] = []
    for file in files:
        declared = _declared(_load(file, caller), kind)
        if not declared:
            raise CollectError(f"collect: {folder}/{file.name} declares no {kind.__name__} at module level")
        found += declared
    return tuple({id(declaration): declaration for declaration in found}.values())


def _load(file: Path, root: Path) -> ModuleType:
    """Execute a file under the name by which its neighbours would import it, so that it runs only once."""
    name = ".".join(file.relative_to(root).with_suffix("").parts) if file.is_relative_to(root) else file.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return loaded
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CollectError(f"collect: {file.name} cannot be loaded as Python")
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
    """Tell whether this module made the declaration, itself or through a helper; what it imports counts elsewhere."""
    source = declaration.source
    return module.__file__ in (source.file, *(caller.file for caller in source.callers))
