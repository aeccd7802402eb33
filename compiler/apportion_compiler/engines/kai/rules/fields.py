"""Verdicts on single fields, and the versions that KAI serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.durations import parse_duration
from apportion_compiler.engine_rules.verdict import Manifest, ManifestVerdicts, Verdict

_TYPES: Mapping[str, tuple[str, str]] = {
    "text": ("string", "text"),
    "an integer": ("integer", "an integer without quotes"),
    "a finite number": (
        "number",
        "a number without quotes or unit: cpu in millicores, memory in megabytes, gpu in devices",
    ),
    "true or false": ("boolean", "true or false without quotes"),
    "a mapping": ("object", "a mapping"),
    "a list": ("array", "a list"),
}
"""By what a typed field expects: the schema's type, and what to write."""


class FieldVerdicts(ManifestVerdicts):
    """Verdicts on fields that several kinds have."""

    __slots__ = ()

    def mistyped(self) -> Iterator[Verdict]:
        """Yield a verdict for each value that has not the type of the schema."""
        for fault in self.faults:
            wanted, cure = _TYPES[fault.expected]
            yield self.rejected(
                fault.path, "Invalid", f"must be of type {wanted}, not {_shown(fault.found)}", f"use {cure}"
            )

    def bad_duration(self, value: str | None, field: str) -> Iterator[Verdict]:
        """Yield a verdict where a text is not a duration: the webhook cannot decode the object."""
        if value is not None and not self.is_malformed(field):
            try:
                parse_duration(value)
            except ValueError as refused:
                yield self.rejected(field, "Invalid", str(refused), "use hours, minutes and seconds, such as 1h30m")


def unserved(about: FieldVerdicts, manifest: Manifest, api: str) -> Iterator[Verdict]:
    """Yield a verdict where a kind of KAI's is written in a version that it does not serve."""
    written = str(manifest.get("apiVersion"))
    if written != api:
        yield about.rejected(
            "apiVersion", "NotFound", f'no matches for kind "{manifest.get("kind")}" in version "{written}"',
            f"use {api}",
        )  # fmt: skip


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f'the text "{value[:40]}"'
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return "a Boolean" if isinstance(value, bool) else str(value)
