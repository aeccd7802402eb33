"""Verdicts on single fields, and the kinds that KAI serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.engine_rules.verdict import Manifest, ManifestVerdicts, Verdict
from apportion_compiler.plain_objects import group_of, whole_seconds

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "object": (Mapping,),
    "array": (list, tuple),
}


class FieldVerdicts(ManifestVerdicts):
    """Verdicts on fields that several kinds have."""

    __slots__ = ()

    def mistyped(self, value: object, field: str, wanted: str) -> Iterator[Verdict]:
        """Yield a verdict where a value that is there has not the type of the schema."""
        if value is not None and (not isinstance(value, _TYPES[wanted]) or isinstance(value, bool)):
            yield self.rejected(
                field, "Invalid", f"must be of type {wanted}, not {_shown(value)}", f"use {_ARTICLES[wanted]}"
            )

    def bad_duration(self, value: object, field: str) -> Iterator[Verdict]:
        """Yield a verdict where a text is not a duration: the webhook cannot decode the object."""
        if isinstance(value, str):
            try:
                whole_seconds(value)
            except ValueError as refused:
                yield self.rejected(field, "Invalid", str(refused), "use hours, minutes and seconds, such as 1h30m")


_ARTICLES = {
    "string": "text",
    "integer": "an integer without quotes",
    "number": "a number without quotes or unit: cpu in millicores, memory in megabytes, gpu in devices",
    "object": "a mapping",
    "array": "a list",
}


def is_kind(manifest: Manifest, group: str, kind: str) -> bool:
    """Tell whether a manifest is of a kind, in whatever version."""
    return manifest.get("kind") == kind and group_of(manifest) == group


def unserved(about: FieldVerdicts, manifest: Manifest, group: str, version: str) -> Iterator[Verdict]:
    """Yield a verdict where a kind of KAI's is written in a version that it does not serve."""
    written = str(manifest.get("apiVersion"))
    if written != f"{group}/{version}":
        yield about.rejected(
            "apiVersion", "NotFound", f'no matches for kind "{manifest.get("kind")}" in version "{written}"',
            f"use {group}/{version}",
        )  # fmt: skip


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f'the text "{value[:40]}"'
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return "a Boolean" if isinstance(value, bool) else str(value)
