"""The organisation that benchmarks compile, generated as by an author."""

from __future__ import annotations

from pathlib import Path

_POLICY = '''"""A generated organisation: {departments} departments, {leaves} teams, {pools} pools."""

from apportion_policy import (
    GPU_TAINT, Accelerator, Cluster, Engine, Environment, NodePool, Organisation, Policy, Queue, Resources,
)

PER_DEPARTMENT = {leaves} // {departments}
POOLS = tuple(
    NodePool(
        id=f"pool-{{i:02d}}", cpu=96, memory="900Gi", accelerator=Accelerator(model="h100", count=8),
        max_nodes=2 * {leaves} // {pools} + 2, taints=(GPU_TAINT,),
    )
    for i in range({pools} - 1)
) + (NodePool(id="ordinary", cpu=30, memory="120Gi", max_nodes=20),)


def team(department: int, number: int) -> Queue:
    name = f"team-{{department:04d}}-{{number:02d}}"
    return Queue(
        id=name,
        parent=f"department-{{department:04d}}",
        namespaces=(name,),
        guaranteed=Resources(cpu=8, memory="64Gi", gpu=1),
        limit=Resources(cpu=64, memory="512Gi", gpu=8),
        over_quota_weight=1 + number % 3,
    )


DEPARTMENTS = tuple(
    Queue(
        id=f"department-{{i:04d}}",
        owner="@bench/leads",
        guaranteed=Resources(cpu=8 * PER_DEPARTMENT, memory=f"{{64 * PER_DEPARTMENT}}Gi", gpu=PER_DEPARTMENT),
    )
    for i in range({departments})
)

policy = Policy(
    organisation=Organisation(name="bench", owner="@bench/platform"),
    queues=(*DEPARTMENTS, *(team(i, j) for i in range({departments}) for j in range(PER_DEPARTMENT))),
    node_pools=POOLS,
    environments=(
        Environment(
            name="prod",
            clusters=tuple(
                Cluster(name=name, engine=Engine(engine), engine_version=version, pools=POOLS)
                for name, engine, version in {clusters}
            ),
        ),
    ),
)
'''


KAI = (("main", "kai", "0.17.0"),)
EVERY_ENGINE = (
    *KAI,
    ("kueue", "kueue", "0.18.3"),
    ("volcano", "volcano", "1.16.0"),
    ("koordinator", "koordinator", "1.8.0"),
    ("ack", "ack", "1.21"),
    ("yunikorn", "yunikorn", "1.8.0"),
    ("native", "native", "1.34"),
)
"""Clusters by name, engine and version."""


def write_organisation(
    folder: Path, *, departments: int, leaves: int, pools: int, clusters: tuple[tuple[str, str, str], ...] = KAI
) -> Path:
    """Write `policy.py` into a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "policy.py"
    path.write_text(
        _POLICY.format(departments=departments, leaves=leaves, pools=pools, clusters=repr(clusters)), encoding="utf-8"
    )
    return path
