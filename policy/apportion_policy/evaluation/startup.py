"""Actions of the child process before it imports the model."""

from __future__ import annotations

import importlib
import os
import resource
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def close_inherited(*keep: int) -> None:
    """Close files that the caller inherited: those of a CI runner, or of a make job server."""
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    start = 3
    for descriptor in sorted(keep):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, 1 << 20 if highest == resource.RLIM_INFINITY else highest)


def defer_package_metadata() -> None:
    """Load `importlib.metadata` on first use.

    Pydantic imports `entry_points` from it to discover plugins, which are disabled here; loading it takes a tenth of
    the startup time. `importlib.util.LazyLoader` does not help, because the import statement already accesses
    attributes.
    """
    name = "importlib.metadata"
    spec = find_spec(name)
    if spec is None or name in sys.modules:
        return
    stand_in = ModuleType(name)
    stand_in.__spec__ = spec
    stand_in.__path__ = spec.submodule_search_locations or []

    def load(attribute: str) -> Any:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    def entry_points(**selected: Any) -> Any:
        return load("entry_points")(**selected)

    stand_in.__dict__.update(__getattr__=load, entry_points=entry_points)
    sys.modules[name] = stand_in
