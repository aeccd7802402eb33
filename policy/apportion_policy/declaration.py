"""The base class of all declarations: immutable, rejects unknown fields, and records its source location.

During the evaluation of a policy, a constructor with invalid arguments records the error and continues with an
unvalidated object, so that the errors of all files are reported together. Outside of an evaluation, it raises
pydantic's `ValidationError`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator

from apportion_policy.evaluation.sanitized_text import unprintable
from apportion_policy.refused_values import refused_values
from apportion_policy.source import NOWHERE, SourceLocation, author_location

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelMetaclass
else:
    _ModelMetaclass = type(BaseModel)


@dataclass(frozen=True, slots=True)
class AuthoringFault:
    """A value that a constructor rejected: the declaration's class, the path inside it, and its location."""

    declaration: str
    path: tuple[str | int, ...]
    message: str
    source: SourceLocation


@dataclass(frozen=True, slots=True)
class DeclarationRecord:
    """The author's declarations, in order, and those that were copied as templates."""

    made: list[Declaration] = field(default_factory=list["Declaration"])
    copied: list[Declaration] = field(default_factory=list["Declaration"])


class PlacedDict(dict[str, Any]):
    """A mapping read from a document, with its location."""

    __slots__ = ("at",)
    at: SourceLocation


_collector: ContextVar[AuthoringFaults | None] = ContextVar("authoring_faults", default=None)
_record: ContextVar[DeclarationRecord | None] = ContextVar("declaration_record", default=None)
_reading_document: ContextVar[bool] = ContextVar("reading_document", default=False)
_places: ContextVar[Sequence[SourceLocation] | None] = ContextVar("places", default=None)
PLACE = "$at"
"""Key of an object's location number, in data from another process."""


class AuthoringFaults(list[AuthoringFault]):
    """The faults of declarations, and the faulty declarations."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[Declaration] = []

    def covers(self, data: object, path: tuple[str | int, ...]) -> bool:
        """Return whether a path leads to, or through, a declaration whose faults are already recorded."""
        for part in path:
            try:
                data = getattr(data, str(part)) if isinstance(data, Declaration) else cast(Any, data)[part]
            except (AttributeError, LookupError, TypeError):
                return False
            if any(data is one for one in self.refused):
                return True
        return False


@contextmanager
def collecting_faults() -> Generator[AuthoringFaults]:
    """Record the faults of every declaration created inside, instead of raising at the first one."""
    faults = AuthoringFaults()
    token = _collector.set(faults)
    try:
        yield faults
    finally:
        _collector.reset(token)


@contextmanager
def recording_declarations() -> Generator[DeclarationRecord]:
    """Record every declaration created inside by calling its class, and every one that is copied."""
    record = DeclarationRecord()
    token = _record.set(record)
    try:
        yield record
    finally:
        _record.reset(token)


@contextmanager
def reading_document() -> Generator[None]:
    """Use only locations from `PlacedDict`: no frame on the stack is the author's."""
    token = _reading_document.set(True)
    try:
        yield
    finally:
        _reading_document.reset(token)


@contextmanager
def reading_places(places: Sequence[SourceLocation]) -> Generator[None]:
    """Use the location numbers in the `PLACE` key of objects, and remove the key.

    Validation may raise `IndexError` or `TypeError` for an invalid location number.
    """
    token = _places.set(places)
    try:
        yield
    finally:
        _places.reset(token)


class _RecordingMetaclass(_ModelMetaclass):
    if not TYPE_CHECKING:  # A type checker would use this signature instead of the model's own.

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if args or cls.__init__ is not BaseModel.__init__:
                return super().__call__(*args, **kwargs)
            placed = PlacedDict(kwargs)
            placed.at = source = author_location(2)
            try:
                # Equivalent to BaseModel.__init__, without its frame between the author and the model.
                made = cls.__pydantic_validator__.validate_python(placed)
            except ValidationError as refused:
                faults = _collector.get()
                if faults is None:
                    raise
                for wrong in refused_values(refused, cls, placed):
                    if not faults.covers(placed, wrong.path):
                        faults.append(AuthoringFault(cls.__name__, wrong.path, wrong.message, source))
                made = cls.model_construct(**kwargs)
                faults.refused.append(made)
                _set_location(made, source)
            record = _record.get()
            if record is not None:
                record.made.append(made)
            return made


class Declaration(BaseModel, metaclass=_RecordingMetaclass):
    """A declaration of the policy. Immutable; `source` is not part of equality or serialisation."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, validate_default=False)

    # A slot instead of a private attribute: pydantic initialises those in Python, twice for each declaration.
    __slots__ = ("_at",)

    @property
    def source(self) -> SourceLocation:
        """The source location of this declaration."""
        try:
            location: SourceLocation = _get_location(self)
        except AttributeError:
            return NOWHERE
        return location

    @model_validator(mode="wrap")
    @classmethod
    def _remember_location(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        kind = type(data)
        if kind is cls:
            return cast(Self, data)
        if kind is PlacedDict:
            made = _printable(handler(data))
            _set_location(made, data.at)
            return made
        if kind is not dict:
            return _printable(handler(data))
        places = _places.get()
        if places is not None:
            at = data.pop(PLACE, None)
            made = _printable(handler(data))
            if at is not None:
                _set_location(made, places[at])
            return made
        made = _printable(handler(data))
        if not _reading_document.get():
            _set_location(made, author_location())
        return made

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a validated copy of this declaration with changed values; its source location is that of the call."""
        _note_copied(self)
        set_fields = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**set_fields, **(update or {})})

    def __copy__(self) -> Self:
        _note_copied(self)
        made = super().__copy__()
        _set_location(made, self.source)
        return made

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        _note_copied(self)
        made = super().__deepcopy__(memo)
        _set_location(made, self.source)
        return made


def _note_copied(template: Declaration) -> None:
    record = _record.get()
    if record is not None:
        record.copied.append(template)


_Made = TypeVar("_Made", bound=Declaration)


def _printable(made: _Made) -> _Made:
    """Return the declaration. Raises `ValueError` if one of its texts has an unprintable character."""
    for name, value in made.__dict__.items():
        kind = type(value)
        if (kind is str and not value.isprintable()) or ((kind is tuple or kind is dict) and value):
            for text in _texts(value):
                refused = None if text.isprintable() else unprintable(text)
                if refused is not None:
                    raise ValueError(
                        f"`{name}` contains {refused}; it must be a single line without control, format or "
                        "bidirectional characters"
                    )
    return made


def _texts(value: object) -> Iterator[str]:
    """Yield every text of a field that is not part of a nested declaration."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Declaration):
        return
    elif isinstance(value, Mapping):
        for key, held in cast(Mapping[object, object], value).items():
            yield from _texts(key)
            yield from _texts(held)
    elif isinstance(value, tuple | list):
        for held in cast(Sequence[object], value):
            yield from _texts(held)


_get_location: Any = Declaration.__dict__["_at"].__get__
_set_location: Any = Declaration.__dict__["_at"].__set__


def reference(value: object) -> object:
    """Return the permanent identity of a declaration, or the value itself, so that a field accepts either."""
    if isinstance(value, Declaration):
        if not hasattr(value, "identity"):
            raise ValueError(f"`{type(value).__name__}` cannot be referenced by name")
        return cast(Any, value).identity
    return value
