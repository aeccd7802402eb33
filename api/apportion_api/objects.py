"""API objects as frozen dataclasses whose fields declare their paths, and the function that parses them.

@dataclass(frozen=True, slots=True)
class LocalQueue(ApiObject):
cluster_queue: str | None = text("spec.clusterQueue")

read(LocalQueue, manifest)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

from apportion_api.fields import Fault, Fields


class Dataclass(Protocol):
    """Any dataclass, as `dataclasses.fields` accepts it."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


_Form = TypeVar("_Form", bound=Dataclass)
_Object = TypeVar("_Object", bound="ApiObject")


def text(path: str, *former: str, default: str | None = None) -> Any:
    """Declare a text field, by its path and those of former API versions."""
    return _field(Fields.text, path, *former, default=default)


def integer(path: str) -> Any:
    """Declare an integer field."""
    return _field(Fields.integer, path)


def flag(path: str) -> Any:
    """Declare a boolean field."""
    return _field(Fields.flag, path)


def number(path: str) -> Any:
    """Declare a field with a finite number."""
    return _field(Fields.number, path)


def quantity(path: str) -> Any:
    """Declare a quantity field, whose value is unchanged."""
    return _field(Fields.quantity, path)


def quantities(path: str) -> Any:
    """Declare a field with a mapping of quantities, such as a resource list."""
    return _field(Fields.quantities, path, default_factory=dict)


def optional_quantities(path: str) -> Any:
    """Declare a field with a mapping of quantities; None if missing."""
    return _field(lambda at, key: at.quantities(key) if key in at else None, path)


def integers(path: str) -> Any:
    """Declare a field with a mapping of integers."""
    return _field(Fields.integers, path, default_factory=dict)


def texts(path: str) -> Any:
    """Declare a field with a list of texts."""
    return _field(Fields.texts, path, default=())


def optional_texts(path: str) -> Any:
    """Declare a field with a list of texts; None if missing."""
    return _field(lambda at, key: at.texts(key) if key in at else None, path)


def text_map(path: str) -> Any:
    """Declare a field with a mapping of texts, such as labels."""
    return _field(Fields.text_map, path, default_factory=dict)


def optional_text_map(path: str) -> Any:
    """Declare a field with a mapping of texts; None if missing."""
    return _field(lambda at, key: at.text_map(key) if key in at else None, path)


def mapping(path: str) -> Any:
    """Declare a field with an unchanged mapping."""
    return _field(lambda at, key: at.at(key).written, path, default_factory=dict)


def mappings(path: str) -> Any:
    """Declare a field with a list of unchanged mappings."""
    return _field(Fields.mappings, path, default=())


def each(path: str, form: type[Dataclass]) -> Any:
    """Declare a field with a list of objects of a class."""
    return _field(lambda at, key: tuple(read_fields(form, item) for item in at.each(key)), path, default=())


def optional_each(path: str, form: type[Dataclass]) -> Any:
    """Declare a field with a list of objects of a class; None if missing."""
    return _field(lambda at, key: tuple(read_fields(form, item) for item in at.each(key)) if key in at else None, path)


def named(path: str, form: type[Dataclass]) -> Any:
    """Declare a field with a mapping of names to objects of a class."""
    return _field(
        lambda at, key: {name: read_fields(form, item) for name, item in at.named(key)}, path, default_factory=dict
    )


def part(path: str, form: type[Dataclass]) -> Any:
    """Declare a field with an object of a class, which has its defaults if missing."""
    return _field(lambda at, key: read_fields(form, at.at(key)), path, default_factory=form)


def optional_part(path: str, form: type[Dataclass]) -> Any:
    """Declare a field with an object of a class; None if missing."""
    return _field(lambda at, key: read_fields(form, at.at(key)) if key in at else None, path)


def read(form: type[_Object], manifest: Mapping[str, object]) -> _Object:
    """Parse an object of a class, with faults recorded in it."""
    fields = Fields(manifest)
    found = read_fields(form, fields)
    return dataclasses.replace(found, faults=fields.faults) if fields.faults else found


def derived(read_from: Callable[[Fields], object], default: object) -> Any:
    """Declare a field that is computed from the fields of its mapping."""

    def read_whole(fields: Fields, _: str) -> object:
        return read_from(fields)

    return dataclasses.field(default=default, metadata={"read": read_whole, "paths": ()})


def read_all(form: type[_Object], manifests: Iterable[Mapping[str, object]]) -> list[_Object]:
    """Return the objects of a class's kind among manifests, in any version of its group."""
    return [read(form, one) for one in manifests if is_a(form, one)]


def is_a(form: type[ApiObject], manifest: Mapping[str, object]) -> bool:
    """Return whether a manifest is of a class's kind, in any version of its group."""
    if manifest.get("kind") != form.__name__:
        return False
    return str(manifest.get("apiVersion") or "").rpartition("/")[0] == form.group


def read_fields(form: type[_Form], fields: Fields) -> _Form:
    """Parse an object of a class from its fields."""
    found: dict[str, Any] = {}
    above, readers = _readers(form)
    holders: list[Fields | None] = [None] * len(above)
    for name, read_key, places in readers:
        for holder, key in places:
            at = holders[holder]
            if at is None:
                at = holders[holder] = fields.at(*above[holder])
            # Most fields are missing in most objects: they cost one look-up, and get the default of their class.
            if at.written.get(key) is not None and (value := read_key(at, key)) is not None:
                found[name] = value
                break
        if not places:
            found[name] = read_key(fields, "")
    return form(**found)


_Reader = tuple[str, Callable[[Fields, str], object], tuple[tuple[int, str], ...]]
"""A field's name, what reads it, and its places: the number of the path of its mapping, and its key there."""


@cache
def _readers(form: type[Dataclass]) -> tuple[tuple[tuple[str, ...], ...], tuple[_Reader, ...]]:
    """Return the paths of the mappings in which a form's fields stand, and what reads each field; a derived one has no place."""
    numbers: dict[tuple[str, ...], int] = {}
    readers: list[_Reader] = []
    for each in dataclasses.fields(form):
        if "read" in each.metadata:
            split = [tuple(path.split(".")) for path in each.metadata["paths"]]
            places = tuple((numbers.setdefault(path[:-1], len(numbers)), path[-1]) for path in split)
            readers.append((each.name, each.metadata["read"], places))
    return tuple(numbers), tuple(readers)


def _field(
    read_key: Callable[[Fields, str], object],
    *paths: str,
    default: object = None,
    default_factory: Callable[[], object] | None = None,
) -> Any:
    metadata = {"read": read_key, "paths": paths}
    if default_factory is not None:
        return dataclasses.field(default_factory=default_factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiObject:
    """Fields of every object; `faults` are its values of the wrong type. The class is named after the kind."""

    group: ClassVar[str] = ""
    name: str = text("metadata.name", default="")
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.name or 'without a name'}"


@dataclass(frozen=True, slots=True)
class Requirement:
    """An entry of `matchExpressions`."""

    key: str = text("key", default="")
    operator: str = text("operator", default="")
    values: tuple[str, ...] = texts("values")


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A label selector; one without requirements selects everything."""

    labels: Mapping[str, str] = text_map("matchLabels")
    expressions: tuple[Requirement, ...] = each("matchExpressions", Requirement)
