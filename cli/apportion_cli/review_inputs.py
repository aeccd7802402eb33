"""The inputs of `apportion review` besides the policies: snapshots of clusters, and approvals."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.errors import PreconditionError
from apportion_cli.manifest_files import read_objects

if TYPE_CHECKING:
    from apportion_review.cluster_reviews import ClusterSnapshot

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_GPU_HOURS = re.compile(r"(\d+)(?:\.(\d{1,3}))?")


def read_snapshots(
    named: Sequence[str], clusters: Sequence[str], now: float
) -> tuple[Mapping[str, ClusterSnapshot], Mapping[str, str]]:
    """Return the snapshots by cluster, and the digest of each file.

    Args:
        named: Each `[ENV/CLUSTER=]FILE`; several files of one cluster are combined.
        clusters: Clusters of the policies.
        now: Time of the review in seconds since the epoch.

    Raises:
        PreconditionError: If a file cannot be read, or files of a cluster have different versions of an object.
        click.UsageError: If the cluster of a file is ambiguous.
    """
    from apportion_review.cluster_reviews import ClusterSnapshot
    from apportion_review.review import SnapshotInfo

    files: dict[str, list[str]] = {}
    for text in named:
        cluster, file = _place(text, clusters)
        files.setdefault(cluster, []).append(file)
    found: dict[str, ClusterSnapshot] = {}
    digests: dict[str, str] = {}
    for cluster, paths in files.items():
        objects = _objects_once(paths)
        content = json.dumps(objects, sort_keys=True, default=str)
        digest = f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
        digests[f"snapshot of {cluster}"] = digest
        taken = _newest(content, now)
        age = None if taken is None else int(now - taken)
        found[cluster] = ClusterSnapshot(SnapshotInfo(", ".join(paths), digest, taken, age), objects)
    return found, digests


def _objects_once(paths: Sequence[str]) -> list[Mapping[str, object]]:
    """Return the objects of a cluster's files, without repetitions. Raises `PreconditionError` if two differ."""
    from apportion_compiler.rollout.identity import Identity, identity_of

    found: dict[Identity, tuple[Mapping[str, object], str]] = {}
    for path in paths:
        for made in read_objects((path,)):
            identity = identity_of(made)
            known, file = found.setdefault(identity, (made, path))
            if known == made:
                continue
            name = f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
            what = f"{identity.kind} {name}".strip()
            raise PreconditionError(
                f"{path} contains {what} twice, with different contents"
                if file == path
                else f"{file} and {path} contain different versions of {what}",
                hint="export all of the cluster's objects with a single `kubectl get … -A -o json`",
            )
    return [made for made, _ in found.values()]


def _place(text: str, clusters: Sequence[str]) -> tuple[str, str]:
    cluster, equals, file = text.partition("=")
    if equals and cluster in clusters:
        return cluster, file
    listed = ", ".join(clusters) or "none"
    if equals and not Path(text).exists():
        raise click.UsageError(f"--snapshot {text}: cluster `{cluster}` does not exist; the policies define {listed}")
    if len(clusters) != 1:
        raise click.UsageError(f"--snapshot {text}: specify the cluster, as in {listed.partition(',')[0]}={text}")
    return clusters[0], text


def _newest(content: str, now: float) -> float | None:
    """Return the newest time in a snapshot that is not after the review: a lower bound of its age."""
    newest: float | None = None
    for text in sorted(set(_TIME.findall(content)), reverse=True):
        try:
            time = datetime.fromisoformat(text).timestamp()
        except ValueError:
            continue
        if time <= now:
            newest = time
            break
    return newest


def parse_gpu_hours(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return GPU-hours, such as `40` or `2.5`, in thousandths of a GPU times seconds."""
    if value is None:
        return None
    found = _GPU_HOURS.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"`{value}` is not a number of GPU-hours such as 40 or 2.5")
    return (int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0"))) * 3600
