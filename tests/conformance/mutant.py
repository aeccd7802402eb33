"""Whether recorded decisions notice a mutated rule of an engine: run as a program, with the mutation applied on import.

Arguments: the folder with the cases and `mutations.json`, the name of a mutation, and the seeds of the cases to run; all
of them without one. Prints the seed of the first case that differs, or nothing.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
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
    mutation: dict[str, str]

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(mutated(self.mutation, source), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutation: dict[str, str]) -> None:
        self._mutation = mutation

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutation["module"]:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            loader = _Loader(fullname, spec.origin)
            loader.mutation = self._mutation
            spec.loader = loader
        return spec


def main(folder: str, name: str, *seeds: str) -> None:
    """Run the cases with a mutation."""
    mutation = next(each for each in mutations(folder) if each["name"] == name)
    sys.meta_path.insert(0, _Finder(mutation))
    sys.path.insert(0, str(ROOT))
    cases = importlib.import_module("tests.conformance.random_cases").cases
    agrees = importlib.import_module(f"tests.conformance.{folder.partition('_')[0]}_timelines").agrees
    assert mutation["module"] in sys.modules
    for case in cases(folder):
        seed = seed_of(case)
        if (not seeds or seed in seeds) and not _agrees(agrees, case):
            sys.stdout.write(f"{seed}\n")
            return


def _agrees(agrees: Callable[[Mapping[str, Any]], bool], case: Mapping[str, Any]) -> bool:
    """Return whether a case gives a recorded outcome; a mutation that breaks an invariant does not."""
    try:
        return agrees(case)
    except (AssertionError, ArithmeticError, LookupError, RuntimeError, ValueError):
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
