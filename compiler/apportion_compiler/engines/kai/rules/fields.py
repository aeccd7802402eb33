"""Verdicts on fields that several kinds share, and the API versions that KAI serves."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.durations import parse_duration
from apportion_compiler.engine_rules.verdict import Manifest, ManifestVerdicts, Verdict


class FieldVerdicts(ManifestVerdicts):
    """Verdicts on fields that several kinds share."""

    __slots__ = ()

    def bad_duration(self, value: str | None, field: str) -> Iterator[Verdict]:
        """Yield a verdict if a text is not a duration: the webhook cannot decode the object."""
        if value is not None and not self.is_malformed(field):
            try:
                parse_duration(value)
            except ValueError as refused:
                yield self.rejected(field, "Invalid", str(refused), "use hours, minutes and seconds, such as 1h30m")


def unserved(about: FieldVerdicts, manifest: Manifest, api: str) -> Iterator[Verdict]:
    """Yield a verdict if an object has an API version that KAI does not serve."""
    written = str(manifest.get("apiVersion"))
    if written != api:
        yield about.rejected(
            "apiVersion", "NotFound", f'no matches for kind "{manifest.get("kind")}" in version "{written}"',
            f"use {api}",
        )  # fmt: skip
