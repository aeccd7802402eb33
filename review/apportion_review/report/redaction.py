"""Replacement of workload names by hashes, for a report for other tenants or the public."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from apportion_review.review import ClusterReview, Review

_Record = TypeVar("_Record")
_TOKEN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_QUEUE_FIELDS = frozenset(("queue", "kind", "engine", "source"))


def redacted(review: Review) -> Review:
    """Return a review in which every name of a running workload, and every namespace of one, is a hash.

    A name has the same hash everywhere, so that rows can be compared. A hash can be computed for a guessed name. Names
    of the policy, such as those of queues, are kept.
    """
    names: set[str] = set()
    for cluster in review.clusters:
        for row in () if cluster.fates is None else cluster.fates.rows:
            names |= {row.workload.name, row.workload.namespace}
        for other in () if cluster.fates is None else cluster.fates.unmanaged:
            names |= {other.name, other.namespace}
    names.discard("")
    queues = {*review.diff.found.base.parents, *review.diff.found.head.parents}
    hashes = {name: _hash(name) for name in names}
    texts = {name: shown for name, shown in hashes.items() if name not in queues}
    return replace(
        review,
        clusters=tuple(_cluster(cluster, hashes, texts) for cluster in review.clusters),
        approvals=_replaced(review.approvals, texts),
        gates=_replaced(review.gates, texts),
        is_redacted=True,
    )


def _hash(name: str) -> str:
    return f"w-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


def _cluster(cluster: ClusterReview, hashes: Mapping[str, str], texts: Mapping[str, str]) -> ClusterReview:
    # Proofs contain only queue names, and use them as keys.
    shown = replace(_replaced(replace(cluster, proofs=()), texts), proofs=cluster.proofs)
    if cluster.fates is None or shown.fates is None:
        return shown
    # A workload may have the same name as a queue, which is not replaced elsewhere.
    rows = tuple(
        replace(
            row,
            workload=replace(
                row.workload,
                name=hashes.get(former.workload.name, row.workload.name),
                namespace=hashes.get(former.workload.namespace, row.workload.namespace),
                queue=former.workload.queue,
            ),
        )
        for former, row in zip(cluster.fates.rows, shown.fates.rows, strict=True)
    )
    others = tuple(
        replace(each, name=hashes.get(each.name, each.name), namespace=hashes.get(each.namespace, each.namespace))
        for each in cluster.fates.unmanaged
    )
    return replace(shown, name=cluster.name, fates=replace(shown.fates, rows=rows, unmanaged=others))


def _replaced(value: _Record, names: Mapping[str, str]) -> _Record:
    """Return a record with names replaced in all nested texts."""
    walked: _Record = _walked(value, names)
    return walked


def _walked(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return _TOKEN.sub(lambda found: _token(found.group(), names), value)
    if isinstance(value, tuple):
        return tuple(_walked(each, names) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        held = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        changed = {name: each if name in _QUEUE_FIELDS else _walked(each, names) for name, each in held.items()}
        return replace(value, **changed)
    return value


def _token(token: str, names: Mapping[str, str]) -> str:
    """Return the hash of a name, including names with a suffix, such as that of a pod."""
    if token in names:
        return names[token]
    for end in range(len(token) - 1, 0, -1):
        if token[end] in "-." and token[:end] in names:
            return f"{names[token[:end]]}{token[end:]}"
    return token
