"""Rows of a review's tables: running work by queue and fate, and changed quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_api.counted_nouns import agreeing, counted
from apportion_policy.quantity import Unlimited, gpu_text
from apportion_policy.resources import GPU
from apportion_review.fates.records import EngineFates, Fate, Workload, WorkloadFate
from apportion_review.fates.unmanaged import Unmanaged
from apportion_review.fates.workloads import UNKNOWN_MODEL
from apportion_review.review import ClusterReview
from apportion_review.shares.division_records import FIRST_COME, THOUSANDTHS
from apportion_review.shares.records import Demand, PoolHeadroom, QueueAmounts, ShareChange
from apportion_review.value_text import amount, bare


@dataclass(frozen=True, slots=True)
class FateGroup:
    """Running workloads of a queue and cluster with the same fate and rule."""

    cluster: str
    queue: str
    fate: Fate
    rule: str
    beneficiary: str
    rows: tuple[WorkloadFate, ...]

    @property
    def gpus(self) -> Mapping[str, int]:
        """Thousandths of a GPU for each model."""
        return added(row.workload for row in self.rows)


def fate_groups(clusters: Iterable[ClusterReview]) -> tuple[FateGroup, ...]:
    """Return the running workloads with a worse fate in the head: most severe first, then by GPUs."""
    found: dict[tuple[str, str, Fate, str, str], list[WorkloadFate]] = {}
    for cluster in clusters:
        for row in cluster.worse:
            key = (cluster.name, row.workload.queue, row.head.fate, row.head.rule, row.head.beneficiary)
            found.setdefault(key, []).append(row)
    groups = [FateGroup(*key, tuple(rows)) for key, rows in found.items()]
    return tuple(sorted(groups, key=lambda group: (-group.fate.severity, -sum(group.gpus.values()))))


def added(workloads: Iterable[Workload | Unmanaged]) -> Mapping[str, int]:
    """Return the sum of the GPUs of workloads, in thousandths for each model."""
    total: dict[str, int] = {}
    for workload in workloads:
        for model, held in workload.gpus.items():
            total[model] = total.get(model, 0) + held
    return total


def gpus_text(gpus: Mapping[str, int]) -> str:
    """Return `16 H100, 2 GPUs`; `0` without any."""
    shown = [
        f"{gpu_text(held)} {_unnamed(held) if model == UNKNOWN_MODEL else model.upper()}"
        for model, held in sorted(gpus.items())
        if held
    ]
    return ", ".join(shown) or "0"


def unmanaged_notes(fates: EngineFates | None) -> tuple[str, ...]:
    """Return a sentence on the running work that is not the engine's, without its names; none if there is no such work."""
    if fates is None or not fates.unmanaged:
        return ()
    n = len(fates.unmanaged)
    schedulers = sorted({name for each in fates.unmanaged for name in each.schedulers})
    gpus = gpus_text(added(fates.unmanaged))
    they, them = agreeing(n, "it uses capacity on its", "they use capacity on their"), agreeing(n, "it", "them")
    note = (
        f"{counted(n, 'running workload')} with {gpus if gpus != '0' else 'no GPUs'} {agreeing(n, 'is', 'are')} not managed "
        f"by {fates.source} ({agreeing(len(schedulers), 'scheduler')} {', '.join(schedulers)}): {they} nodes, and no quota "
        f"in the policy causes {them} to be evicted."
    )
    return (note,)


def _unnamed(held: int) -> str:
    return "GPU" if held == THOUSANDTHS else "GPUs"


_NO_AMOUNT = "—"
"""The end of a cell for a queue that the policy does not have, or a share that is not computed."""


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """A queue's GPUs of one model with the same change on some clusters; each cell is `48 → 64 (+16)`, or one value.

    `share` is the share if every queue requests all resources, `snapshot_share` that for the snapshot's requests; they
    overlap on engines that divide only guarantees.
    """

    queue: str
    resource: str
    clusters: tuple[str, ...]
    guaranteed: str
    limit: str
    share: str
    snapshot_share: str
    effect: str
    weight: int
    is_overlapping: bool = False


def quota_rows(clusters: Iterable[ClusterReview]) -> tuple[QuotaRow, ...]:
    """Return the rows of changed GPU amounts, the largest changes first."""
    found: dict[tuple[object, ...], tuple[ShareChange, bool, list[str]]] = {}
    for cluster in clusters:
        models: dict[str, list[ShareChange]] = {}
        for row in cluster.shares:
            if row.resource.startswith(f"{GPU}/"):
                models.setdefault(row.queue, []).append(row)
        for row in cluster.shares:
            if row.resource.partition("/")[0] != GPU or not _is_changed(row):
                continue
            if row.resource == GPU and _repeats(row, models.get(row.queue, ())):
                continue
            overlaps = cluster.engine in FIRST_COME
            key = (row.queue, row.resource, overlaps, *_ends(row))
            found.setdefault(key, (row, overlaps, []))[2].append(cluster.name)
    rows = [replace(_quota_row(row, tuple(names)), is_overlapping=over) for row, over, names in found.values()]
    return tuple(sorted(rows, key=lambda row: -row.weight))


def _repeats(total: ShareChange, models: Sequence[ShareChange]) -> bool:
    """Return whether every changed amount of all GPUs is the sum of the models' amounts."""
    parts = [_parts(end) for end in (total.base, total.head)]
    of_models = [[_parts(row.base) for row in models], [_parts(row.head) for row in models]]
    return bool(models) and all(
        before == after
        or (before == _sum(held[n] for held in of_models[0]) and after == _sum(held[n] for held in of_models[1]))
        for n, (before, after) in enumerate(zip(*parts, strict=True))
    )


def _parts(held: QueueAmounts | None) -> tuple[int | Unlimited | None, ...]:
    """Return the amounts of a row; an undeclared guarantee is zero, whereas an undeclared limit is none."""
    if held is None:
        return (0, None, *(0 for _ in Demand))
    return (held.guaranteed or 0, held.limit, *(held.shares.get(demand, 0) for demand in Demand))


def _sum(amounts: Iterable[int | Unlimited | None]) -> int | Unlimited | None:
    """Return the sum of the declared amounts; None without any."""
    found: int | None = None
    for amount_ in amounts:
        if isinstance(amount_, Unlimited):
            return amount_
        if amount_ is not None:
            found = amount_ + (found or 0)
    return found


def _is_changed(row: ShareChange) -> bool:
    before, after = _ends(row)
    return before != after


def _ends(row: ShareChange) -> tuple[tuple[object, ...], tuple[object, ...]]:
    return _amounts(row.base), _amounts(row.head)


def _amounts(held: QueueAmounts | None) -> tuple[object, ...]:
    if held is None:
        return ()
    return (held.guaranteed, held.limit, *(held.shares.get(demand) for demand in Demand))


def _quota_row(row: ShareChange, clusters: tuple[str, ...]) -> QuotaRow:
    base, head = row.base, row.head
    # A queue that exists on both sides has an unset amount; one that is added or removed has none.
    absent = "unset" if base is not None and head is not None else _NO_AMOUNT
    guaranteed = (None if base is None else base.guaranteed, None if head is None else head.guaranteed)
    limit = (None if base is None else base.limit, None if head is None else head.limit)
    share, snapshot_share = (
        (None if base is None else base.shares.get(demand), None if head is None else head.shares.get(demand))
        for demand in (Demand.EVERYONE, Demand.SNAPSHOT)
    )
    # Without a limit, a queue may use all resources.
    bounds = [Unlimited.UNLIMITED if end is None else end for end in limit]
    difference = _difference(*guaranteed) or _difference(*share) or _difference(*bounds) or _difference(*snapshot_share)
    effect = "gains" if difference > 0 else "loses" if difference < 0 else "changes"
    return QuotaRow(
        row.queue,
        row.resource,
        clusters,
        _cell(row.resource, *guaranteed, absent=absent),
        _cell(row.resource, *limit, absent=absent),
        _cell(row.resource, *share, absent=_NO_AMOUNT),
        _cell(row.resource, *snapshot_share, absent=_NO_AMOUNT),
        effect if row.is_touched else f"{effect} (not edited)",
        abs(difference),
    )


def _difference(before: int | Unlimited | None, after: int | Unlimited | None) -> int:
    if isinstance(before, Unlimited) or isinstance(after, Unlimited):
        return 0 if before is after else 1 if isinstance(after, Unlimited) else -1
    return (after or 0) - (before or 0)


def _cell(resource: str, before: int | Unlimited | None, after: int | Unlimited | None, *, absent: str) -> str:
    if before is None and after is None:
        return "-"
    if before == after and after is not None:
        return bare(resource, after)
    ends = [absent if end is None else bare(resource, end) for end in (before, after)]
    text = f"{ends[0]} → **{ends[1]}**"
    if before is None or after is None or isinstance(before, Unlimited) or isinstance(after, Unlimited):
        return text
    difference = after - before
    return f"{text} ({'+' if difference > 0 else '−'}{bare(resource, abs(difference))})"


def headroom_rows(cluster: ClusterReview) -> tuple[PoolHeadroom, ...]:
    """Return the changed rows of capacity, without that of all GPUs if a single model has the same amounts."""
    models = {replace(row, resource=GPU) for row in cluster.headroom if row.resource.startswith(f"{GPU}/")}
    return tuple(row for row in cluster.headroom if row.is_changed and row not in models)


def share_columns(rows: Sequence[QuotaRow]) -> tuple[tuple[str, Callable[[QuotaRow], str]], ...]:
    """Return the heading and the cells of each column of shares that any row has."""
    kinds = {row.is_overlapping for row in rows if row.share != "-" or row.snapshot_share != "-"}
    title = "share" if len(kinds) > 1 else "can use" if True in kinds else "fair share"
    columns: tuple[tuple[str, Callable[[QuotaRow], str]], ...] = (
        (title, lambda row: row.share),
        (f"snapshot {title}" if title != "can use" else "can use in snapshot", lambda row: row.snapshot_share),
    )
    return tuple((heading, cell) for heading, cell in columns if any(cell(row) != "-" for row in rows))


def listed(names: Sequence[str], most: int) -> str:
    """Return names on one line: the first ones, and the number of others."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def resource_text(resource: str) -> str:
    """Return `H100` for `gpu/h100`, and other resources by their name."""
    return amount(resource, 0).partition(" ")[2] or resource
