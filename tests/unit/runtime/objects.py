"""Objects as printed by kubectl, for tests of parsing."""

from __future__ import annotations

from typing import Any

import yaml

from apportion_runtime.core.snapshot import Pod, PodGroup
from apportion_runtime.snapshots.document_loader import Source
from apportion_runtime.snapshots.snapshot_reader import SnapshotReading, read_snapshot

NOW = 1_763_712_000.0  # 2025-11-21T08:00:00Z


def read(*objects: dict[str, Any], now: float | None = NOW) -> SnapshotReading:
    return read_snapshot([Source("objects.yaml", yaml.safe_dump_all(objects))], now=now)


def made(kind: str, name: str = "x", *, metadata: Any = None, api: str = "v1", **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **rest}


def pod(spec: Any = None, *, name: str = "p", metadata: Any = None, status: Any = None) -> dict[str, Any]:
    about = {"namespace": "team", "uid": f"uid-{name}", **(metadata or {})}
    contained = {"containers": [{"name": "c"}], **(spec or {})}
    return made("Pod", name, metadata=about, spec=contained, status=status or {"phase": "Pending"})


def pod_of(spec: Any = None, *others: dict[str, Any], metadata: Any = None, status: Any = None) -> Pod:
    snapshot = read(pod(spec, metadata=metadata, status=status), made("Node", "n", status={}), *others).snapshot
    assert snapshot is not None
    return next(each for each in snapshot.pods if each.uid == "uid-p")


def asking(*requests: Any, **spec: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": r}} for r in requests], **spec}


def queue(name: str = "q", spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return made("Queue", name, api="scheduling.run.ai/v2", metadata=metadata, spec=spec or {})


def group(spec: Any = None, *, name: str = "g", status: Any = None, **metadata: Any) -> dict[str, Any]:
    about = {"namespace": "team", **metadata}
    return made(
        "PodGroup",
        name,
        api="scheduling.run.ai/v2alpha2",
        metadata=about,
        spec={"queue": "q", **(spec or {})},
        status=status or {},
    )


def group_of(spec: Any = None, *others: dict[str, Any], **metadata: Any) -> PodGroup:
    snapshot = read(group(spec, **metadata), queue(), *others).snapshot
    assert snapshot is not None
    (only,) = snapshot.pod_groups
    return only


def binding(spec: Any = None, **status: Any) -> dict[str, Any]:
    said = {"podName": "p", "selectedNode": "n", "selectedGPUGroups": ["one"], **(spec or {})}
    return made(
        "BindRequest", "p", api="scheduling.run.ai/v1alpha2", metadata={"namespace": "team"}, spec=said, status=status
    )
