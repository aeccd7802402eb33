"""An extension of griffe: a field of a declaration is documented by its own description, and its default is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import griffe
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined


class FieldDescriptions(griffe.Extension):
    """Gives every field of a pydantic model the description that its users see in the JSON Schema."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Read the descriptions of one class from pydantic."""
        if not cls.path.startswith("apportion_policy."):
            return
        model = getattr(import_module(cls.module.path), cls.name, None)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return
        for name, field in model.model_fields.items():
            attribute = cls.members.get(name)
            if isinstance(attribute, griffe.Attribute):
                attribute.labels.clear()
                attribute.value = _default(field)
                attribute.docstring = griffe.Docstring(field.description or "", parent=attribute)


def _default(field: FieldInfo) -> str | None:
    return None if field.default is PydanticUndefined else repr(field.default)
