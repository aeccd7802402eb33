"""LocalQueue by itself."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.kubernetes_names import MAX_NAME, is_label_value
from apportion_compiler.plain_objects import mapping, name_of, text


def local_queue_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a LocalQueue, and on its change where it is stored already."""
    about, spec = FieldVerdicts(index), mapping(manifest, "spec")
    yield from about.one_of(spec.get("stopPolicy"), "spec.stopPolicy", ("None", "Hold", "HoldAndDrain"))
    if stored is not None and text(stored, "spec", "clusterQueue") != text(spec, "clusterQueue"):
        yield about.rejected(
            "spec.clusterQueue",
            "Invalid",
            "field is immutable",
            "make a LocalQueue of another name, or delete this one first",
        )
    if not is_label_value(name_of(manifest)):
        yield about.pending(
            "metadata.name", "TooLong", f"no label can have the value `{name_of(manifest)}`, so no work can name the queue",
            f"use at most {MAX_NAME} letters, digits, dashes and dots",
        )  # fmt: skip
