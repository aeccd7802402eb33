"""Detection of a cluster's engine from its objects, among those of `registry.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from apportion_runtime.engines.base.model import Model, NoModelError
from apportion_runtime.engines.registry import ENGINES
from apportion_runtime.sim.scenario.format import Manifest

MODELS: tuple[Model, ...] = tuple(import_module(f"apportion_runtime.engines.{name}.model").MODEL for name in ENGINES)
"""Every engine that the compiler emits for. A cluster without objects of any other engine is plain Kubernetes."""
_NATIVE = next(model for model in MODELS if model.name == "native")


def named(name: str) -> Model:
    """Return the engine of a target. Raises `NoModelError` if it is unknown."""
    found = next((model for model in MODELS if model.name == name), None)
    if found is None:
        names = ", ".join(model.name for model in MODELS)
        raise NoModelError(f"{name} is not an engine that can be simulated; choose one of {names}")
    return found


def known() -> str:
    """Return the titles of the simulated engines, as text."""
    return ", ".join(model.title for model in MODELS)


def of_model(objects: Iterable[Manifest], model: Model) -> list[Manifest]:
    """Return objects without those that belong to other engines."""
    others = [each for each in MODELS if each is not model]
    return [made for made in objects if model.is_of(made) or not any(each.is_of(made) for each in others)]


def choose(objects: Iterable[Manifest], asked: str | None = None) -> Model:
    """Return the engine of some objects; `asked`, a target's name, selects one of several.

    Raises:
        NoModelError: If the objects belong to several engines, or to another one than the selected one.
    """
    everything = list(objects)
    present: Sequence[Model] = [model for model in MODELS if any(model.is_of(made) for made in everything)]
    if asked is not None:
        model = named(asked)
        if model is not _NATIVE and model not in present:
            raise NoModelError(f"none of the objects belongs to {model.title}")
        if model is _NATIVE and present:
            others = " and ".join(each.title for each in present)
            raise NoModelError(f"the objects belong to {others}, which plain Kubernetes ignores")
        return model
    if len(present) > 1:
        titles = " and ".join(model.title for model in present)
        names = " or ".join(model.name for model in present)
        raise NoModelError(
            f"the objects belong to {titles}; pass the objects of only one cluster, or choose an engine with --engine {names}"
        )
    return present[0] if present else _NATIVE
