"""Queue (scheduling.run.ai/v2): the rules on its nine numbers, durations and name."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kai.names import QUEUE_API
from apportion_api.kai.objects import Queue
from apportion_api.objects import is_a, read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, unserved
from apportion_compiler.kubernetes_names import is_label_value
from apportion_policy.resources import CPU, GPU, MEMORY

ACCOUNTED = (CPU, MEMORY, GPU)
UNITS = {CPU: "millicores", MEMORY: "megabytes", GPU: "GPUs"}
UNLIMITED = -1


def queue_verdicts(index: int, manifest: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a queue's own fields."""
    if not is_a(Queue, manifest):
        return
    queue = read(Queue, manifest)
    about = FieldVerdicts(index, queue.faults)
    yield from unserved(about, manifest, QUEUE_API)
    yield from about.mistyped()
    yield from about.bad_duration(queue.preempt_min_runtime, "spec.preemptMinRuntime")
    yield from about.bad_duration(queue.reclaim_min_runtime, "spec.reclaimMinRuntime")
    if not is_label_value(queue.name):
        yield about.pending(
            "metadata.name", "TooLong", f"`{queue.name}` is not a valid label value, so no workload can select "
            "the queue",
            "use at most 63 letters, digits, dashes and dots",
        )  # fmt: skip
    if queue.resources is None:
        yield about.rejected(
            "spec.resources", "Required", "resources must be specified",
            "set quota, limit and overQuotaWeight for cpu, memory and gpu",
        )  # fmt: skip
    elif not about.is_malformed("spec.resources"):
        for resource in ACCOUNTED:
            yield from _numbers(about, queue, resource)


def _numbers(about: FieldVerdicts, queue: Queue, resource: str) -> Iterator[Verdict]:
    path, held = f"spec.resources.{resource}", queue.resource(resource)
    quota, limit, weight = (queue.counted(resource, field) for field in ("quota", "limit", "overQuotaWeight"))
    if held.limit is None and limit is not None:
        yield about.pending(
            f"{path}.limit", "Required", "limit is missing, which KAI reads as 0: workloads that request "
            f"{resource} never start",
            f"set limit: {UNLIMITED} for unlimited",
        )  # fmt: skip
    elif limit is not None and limit < 0 and limit != UNLIMITED:
        yield _negative(about, path, "limit", limit, resource)
    elif quota is not None and limit is not None and limit != UNLIMITED and (quota > limit or quota == UNLIMITED):
        guaranteed = "an unlimited amount" if quota == UNLIMITED else f"{number_text(quota)} {UNITS[resource]}"
        yield about.ignored(
            f"{path}.quota", "Invalid",
            f"quota guarantees {guaranteed}, but limit allows only {number_text(limit)} {UNITS[resource]}",
            f"raise limit to {number_text(quota)}, or lower quota to {number_text(limit)}",
        )  # fmt: skip
    if quota is not None and quota < 0 and quota != UNLIMITED:
        yield _negative(about, path, "quota", quota, resource)
    if weight is not None and weight < 0:
        yield about.ignored(
            f"{path}.overQuotaWeight",
            "Invalid",
            f"overQuotaWeight {number_text(weight)} is negative",
            "use a value of 0 or more",
        )
    if (
        held.weight is None
        and weight is not None
        and limit is not None
        and (limit == UNLIMITED or limit > (quota or 0))
    ):
        yield about.ignored(
            f"{path}.overQuotaWeight", "Required",
            f"overQuotaWeight is missing, which KAI reads as 0: the queue gets no share of surplus {resource}",
            "set overQuotaWeight: 1",
        )  # fmt: skip


def _negative(about: FieldVerdicts, path: str, field: str, value: float, resource: str) -> Verdict:
    if resource == MEMORY:
        return about.ignored(
            f"{path}.{field}", "Invalid", f"{field} {number_text(value)} is negative: KAI treats negative memory "
            "amounts as unlimited",
            f"use {UNLIMITED} for unlimited",
        )  # fmt: skip
    if field == "limit":
        return about.pending(
            f"{path}.{field}", "Invalid", f"limit {number_text(value)} is negative: workloads that request "
            f"{resource} never start",
            f"use {UNLIMITED} for unlimited",
        )  # fmt: skip
    return about.ignored(
        f"{path}.{field}",
        "Invalid",
        f"quota {number_text(value)} is negative",
        f"use 0, or {UNLIMITED} for unlimited",
    )


def number_text(value: float) -> str:
    """Return a JSON number as text."""
    return str(int(value)) if value == int(value) else repr(value)
