"""Whether recorded decisions notice a mutated rule of an engine: run as a program, with the mutation applied on import.

Arguments: the folder with the cases and `mutations.json`, the name of a mutation, and the seeds of the cases to run; all
of them without one. Prints the seed of the first case that differs, or nothing.

With the folder only, it reads mutations from standard input, a JSON array in each line: a name, whether to mutate the
module or only to import it again, and seeds. It prints that seed or an empty line for each. A fork of this process runs
it, which imports again only what depends on the module: that takes a third of the time that a new process takes.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def mutations(folder: str) -> list[dict[str, str]]:
    """Return the mutations of an engine: `name`, `module`, `find`, `replace`, and `noticed_by`, a seed, or `unnoticed`, why."""
    found: list[dict[str, str]] = json.loads((HERE / folder / "mutations.json").read_text(encoding="utf-8"))
    return found


def seed_of(case: Mapping[str, Any]) -> str:
    """Return the seed of a case, with its generator if the cases have names."""
    return str(case["name"] if "name" in case else case["seed"])


def mutated(mutation: dict[str, str], source: str) -> str:
    """Return the source of a module with a mutation. Raises `ValueError` if its text does not occur exactly once."""
    n_found = source.count(mutation["find"])
    if n_found != 1:
        raise ValueError(f"{mutation['name']}: its text occurs {n_found} times in {mutation['module']}")
    return source.replace(mutation["find"], mutation["replace"])


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module, mutated if it is the one of a mutation, and appends its name to those that are loaded."""

    mutation: dict[str, str] | None
    loaded: list[str]

    def get_code(self, fullname: str) -> CodeType | None:
        if self.mutation is None or fullname != self.mutation["module"]:
            return super().get_code(fullname)
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(mutated(self.mutation, source), self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self.loaded.append(module.__name__)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of this repository.

    Attributes:
        mutation: What it mutates.
        loaded: The modules that it loaded, each after those that it imports.
    """

    def __init__(self, mutation: dict[str, str] | None = None) -> None:
        self.mutation = mutation
        self.loaded: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(("apportion_", "tests")):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            loader = _Loader(fullname, spec.origin)
            loader.mutation, loader.loaded = self.mutation, self.loaded
            spec.loader = loader
        return spec

    def unload(self, module: str) -> None:
        """Unload a module and all that were loaded after it, which are those that can depend on it."""
        for name in self.loaded[self.loaded.index(module) :]:
            sys.modules.pop(name, None)
            parent, _, child = name.rpartition(".")
            # `from parent import child` takes the attribute without a look at `sys.modules`.
            vars(sys.modules.get(parent, ModuleType(""))).pop(child, None)


def main(folder: str, name: str | None = None, *seeds: str) -> None:
    """Run the cases with a mutation, or with each that standard input names."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(ROOT))
    if name is not None:
        finder.mutation = _named(folder, name)
        sys.stdout.write(f"{_noticed(folder, _recorded(folder), seeds)}\n")
        return
    recorded = _recorded(folder)
    _timelines(folder)
    for line in sys.stdin:
        if os.fork() == 0:
            name, mutates, *seeds = json.loads(line)
            mutation = _named(folder, name)
            finder.mutation = mutation if mutates else None
            finder.unload(mutation["module"])
            sys.stdout.write(f"{_noticed(folder, recorded, seeds)}\n")
            return
        if os.wait()[1] != 0:
            sys.stdout.write("failed\n")
        sys.stdout.flush()


def _named(folder: str, name: str) -> dict[str, str]:
    return next(each for each in mutations(folder) if each["name"] == name)


def _timelines(folder: str) -> ModuleType:
    return importlib.import_module(f"tests.conformance.{folder.partition('_')[0]}_timelines")


def _recorded(folder: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the recorded cases, each with its seed."""
    cases = importlib.import_module("tests.conformance.random_cases").cases(folder)
    return [(seed_of(case), case) for case in cases]


def _noticed(folder: str, recorded: Sequence[tuple[str, dict[str, Any]]], seeds: Sequence[str]) -> str:
    """Return the seed of the first case that differs, or an empty string."""
    agrees = _timelines(folder).agrees
    return next((seed for seed, case in recorded if (not seeds or seed in seeds) and not _agrees(agrees, case)), "")


def _agrees(agrees: Callable[[Mapping[str, Any]], bool], case: Mapping[str, Any]) -> bool:
    """Return whether a case gives a recorded outcome; a mutation that breaks an invariant does not."""
    try:
        return agrees(case)
    except (AssertionError, ArithmeticError, LookupError, RuntimeError, ValueError):
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
