"""Rules on a single LocalQueue."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kueue.objects import LocalQueue
from apportion_api.objects import read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.kubernetes_names import MAX_NAME, is_label_value


def local_queue_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a LocalQueue, and on its update if it exists."""
    about, queue = FieldVerdicts(index), read(LocalQueue, manifest)
    yield from about.one_of(queue.stop_policy, "spec.stopPolicy", ("None", "Hold", "HoldAndDrain"))
    if stored is not None and read(LocalQueue, stored).cluster_queue != queue.cluster_queue:
        yield about.rejected(
            "spec.clusterQueue",
            "Invalid",
            "field is immutable",
            "create a LocalQueue with a different name, or delete this LocalQueue first",
        )
    if not is_label_value(queue.name):
        yield about.pending(
            "metadata.name", "TooLong", f"`{queue.name}` is not a valid label value, so no workload can select the "
            "queue",
            f"use at most {MAX_NAME} letters, digits, dashes and dots",
        )  # fmt: skip
