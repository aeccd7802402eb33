"""Queue: the rules of its schema and webhooks on a single object.

Source: config/crd/volcano/bases/scheduling.volcano.sh_queues.yaml and pkg/webhooks/admission/queues/validate/
validate_queue.go (validateQueue) at ed72c7c81. The order of the webhook's sums is in `hierarchy.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from apportion_api.fields import Written
from apportion_api.objects import read
from apportion_api.volcano.names import HIERARCHY_ANNOTATION, HIERARCHY_WEIGHTS_ANNOTATION, ROOT_QUEUE
from apportion_api.volcano.objects import Queue
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engines.volcano.emit.resource_lists import is_counted, is_extended
from apportion_compiler.engines.volcano.rules.queue_tree import QueueTree
from apportion_compiler.kubernetes_names import is_subdomain
from apportion_compiler.plain_objects import integer, mapping, name_of
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import kubernetes_text, kubernetes_value
from apportion_policy.resources import CPU, MEMORY

LISTS = ("capability", "deserved", "guarantee.resource")

_FIELDS = frozenset(
    {
        "affinity", "capability", "dequeueStrategy", "deserved", "extendClusters", "guarantee", "parent", "priority",
        "reclaimable", "type", "weight",
    }
)  # fmt: skip
_MAX_INT32 = 2**31 - 1
_MAX_NAME = 253
_WHOLE = frozenset({"pods"})


def queue_verdicts(index: int, manifest: Manifest, tree: QueueTree) -> Iterator[Verdict]:
    """Yield verdicts on a single queue."""
    yield from _schema(index, manifest)
    queue = read(Queue, manifest)
    yield from _quantities(index, queue)
    yield from _order(index, queue)
    yield from _state(index, queue)
    yield from _hierarchy_annotations(index, queue, tree)
    yield from _root(index, queue, tree)


def rejected(index: int, field: str, message: str, cure: str, kind: str = "Invalid") -> Verdict:
    """Return a verdict on an object that is rejected."""
    return Verdict(Effect.REJECTED, index, field, kind, message, cure)


def ignored(index: int, field: str, message: str, cure: str) -> Verdict:
    """Return a verdict on a field that is ignored."""
    return Verdict(Effect.IGNORED, index, field, "Ignored", message, cure)


def resource_list(queue: Queue, field: str) -> Mapping[str, Written]:
    """Return one of the three lists of a queue, by its name in `LISTS`."""
    return {"capability": queue.capability, "deserved": queue.deserved, "guarantee.resource": queue.guarantee}[field]


def _schema(index: int, queue: Manifest) -> Iterator[Verdict]:
    spec = mapping(queue, "spec")
    name = name_of(queue)
    if not is_subdomain(name) or len(name) > _MAX_NAME:
        yield rejected(
            index, "metadata.name", f'"{name}" is not a valid object name', "use lowercase letters, digits, - and ."
        )
    parent = spec.get("parent")
    if parent is not None and not (isinstance(parent, str) and is_subdomain(parent) and len(parent) <= _MAX_NAME):
        yield rejected(index, "spec.parent", f"{parent!r} is not a valid object name", "use a queue name")
    for field, least, most in (("weight", 1, 65535), ("priority", 0, _MAX_INT32)):
        value = spec.get(field)
        number = integer(spec, field)
        if value is not None and (number is None or not least <= number <= most):
            yield rejected(
                index,
                f"spec.{field}",
                f"must be an integer from {least} to {most}, not {value!r}",
                f"use an integer from {least} to {most}, or remove {field}",
            )
    for field, words in (("dequeueStrategy", ("fifo", "traverse")),):
        value = spec.get(field)
        if value is not None and value not in words:
            yield rejected(
                index,
                f"spec.{field}",
                f"{value!r} is not one of {', '.join(words)}",
                f"use {words[0]}",
                "NotSupported",
            )
    if not isinstance(spec.get("reclaimable", True), bool):
        yield rejected(
            index, "spec.reclaimable", f"must be true or false, not {spec['reclaimable']!r}", "use true or false"
        )
    for field in spec:
        if field not in _FIELDS:
            yield ignored(
                index, f"spec.{field}", f"Queue has no field {field}, so the API server drops it", f"remove {field}"
            )


def _quantities(index: int, queue: Queue) -> Iterator[Verdict]:
    for field in LISTS:
        for name, value in resource_list(queue, field).items():
            at = f"spec.{field}[{name}]"
            amount = _value(value)
            if amount is None:
                yield rejected(index, at, f"{value!r} is not a quantity", "use a quantity such as 4, 500m or 2Ti")
            elif amount < 0:
                yield rejected(index, at, f"{value} must be greater than or equal to 0", "use a value of 0 or more")
            elif (name in _WHOLE or is_extended(name)) and amount != amount.to_integral_value():
                yield rejected(
                    index, at, f"{value} must be an integer: fractions of {name} are not supported", "use an integer"
                )
            elif not is_counted(name):
                yield ignored(
                    index, at, f"Volcano does not support resource {name}", "use the resource name that pods request"
                )
            elif field == "capability" and name in (CPU, MEMORY) and amount == 0:
                yield ignored(
                    index, at, f"a capability of 0 {name} is treated as unset", "use 1m for cpu or 1 for memory"
                )


def _order(index: int, queue: Queue) -> Iterator[Verdict]:
    """Check guarantee ≤ deserved ≤ capability, as the webhook does before it evaluates other queues."""
    deserved, limits = resource_list(queue, "deserved"), resource_list(queue, "capability")
    for name, value in resource_list(queue, "guarantee.resource").items():
        kept, has = _value(value), _value(deserved.get(name))
        at = f"spec.deserved[{name}]"
        if kept is None or (name in deserved and has is None):
            continue
        if has is None:
            yield rejected(
                index,
                at,
                f"deserved[{name}] must be >= guarantee[{name}]={kubernetes_text(str(value))}",
                f"set deserved[{name}] to at least guarantee[{name}]",
            )
        elif has < kept:
            yield rejected(
                index,
                at,
                f"deserved[{name}]={deserved[name]} must be >= guarantee[{name}]={kubernetes_text(str(value))}",
                f"raise deserved[{name}] to {value}, or lower the guarantee",
            )
    for name, value in deserved.items():
        has, most = _value(value), _value(limits.get(name))
        if has is not None and most is not None and has > most:
            yield rejected(
                index,
                f"spec.deserved[{name}]",
                f"deserved[{name}]={value} must be <= capability[{name}]={limits[name]}",
                f"raise capability[{name}] to {value}, or lower deserved",
            )


def _value(written: object) -> Decimal | None:
    if not isinstance(written, str | int | float):
        return None
    try:
        return kubernetes_value(written)
    except QuantityError:
        return None


def _state(index: int, queue: Queue) -> Iterator[Verdict]:
    state = queue.state
    if state is not None and state not in ("Open", "Closed"):
        yield rejected(index, "status.state", f"queue state must be in [Open Closed], not {state}", "remove the status")


def _hierarchy_annotations(index: int, queue: Queue, tree: QueueTree) -> Iterator[Verdict]:
    """Check the annotations of the older hierarchy, of the plugin drf: paths and weights."""
    notes = queue.annotations
    path, weights = notes.get(HIERARCHY_ANNOTATION, ""), notes.get(HIERARCHY_WEIGHTS_ANNOTATION, "")
    if not path and not weights:
        return
    at = f"metadata.annotations[{HIERARCHY_ANNOTATION}]"
    if len(path.split("/")) != len(weights.split("/")):
        yield rejected(
            index,
            at,
            f"{HIERARCHY_ANNOTATION} must have the same length with {HIERARCHY_WEIGHTS_ANNOTATION}",
            "set a weight for each level",
        )
        return
    for weight in weights.split("/"):
        number = _number(weight)
        if number is None or number <= 0:
            problem = "is invalid number" if number is None else "must be larger than 0"
            yield rejected(
                index,
                f"metadata.annotations[{HIERARCHY_WEIGHTS_ANNOTATION}]",
                f"{weight} in the {weights} {problem}",
                "use a number above 0 for each level",
            )
            return
    for name, other in tree.queues.items():
        beyond = other.annotations.get(HIERARCHY_ANNOTATION, "")
        if name != queue.name and beyond.startswith(f"{path}/"):
            yield rejected(
                index,
                at,
                f"{path} is not allowed to be in the sub path of {beyond} of queue {name}",
                "use a different path for this queue",
            )
            return


def _number(text_: str) -> float | None:
    try:
        return float(text_)
    except ValueError:
        return None


def _root(index: int, queue: Queue, tree: QueueTree) -> Iterator[Verdict]:
    before = tree.before.get(ROOT_QUEUE)
    if queue.name != ROOT_QUEUE or before is None:
        return
    for field in LISTS:
        if same_amounts(resource_list(queue, field), resource_list(before, field)):
            continue
        yield rejected(
            index,
            f"spec.{field}",
            "root queue's resource attributes (capability, deserved, guarantee) cannot be modified",
            "do not modify the root queue",
            "Forbidden",
        )


def same_amounts(first: Mapping[str, object], second: Mapping[str, object]) -> bool:
    """Return whether two resource lists have the same amounts, regardless of spelling."""
    return {k: _value(v) for k, v in first.items()} == {k: _value(v) for k, v in second.items()}
