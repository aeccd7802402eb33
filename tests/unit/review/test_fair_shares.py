"""Fair shares of a policy against those of the scheduler core on the compiled queues."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from tests.unit.review.crafted_reviews import side
from tests.unit.review.kai_objects import objects_of
from tests.unit.review.test_schemas import check

from apportion_review.cluster_reviews import manifests_of
from apportion_review.policy_review import ReviewInputs, policy_review
from apportion_review.policy_side import PolicySide
from apportion_review.report.document import review_json
from apportion_review.shares.engine_shares import proof_of
from apportion_review.shares.kai import kai_inputs
from apportion_review.shares.records import Demand
from apportion_runtime.core.session import Session
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

N_NODES = 4


def _policy(random: Random) -> dict[str, Any]:
    """A random policy of two departments with up to three queues each, on a cluster of 32 GPUs."""
    queues: list[dict[str, Any]] = []
    for department in range(2):
        parent = f"d{department}"
        leaves = [
            {
                "id": f"{parent}-{n}",
                "parent": parent,
                "namespaces": [f"{parent}-{n}"],
                "guaranteed": {"gpu": random.choice([0, 1, 2, 4])},
                **({"limit": {"gpu": random.choice([4, 8, 12])}} if random.random() < 0.4 else {}),
                **({"over_quota_weight": random.choice([1, 2, 3])} if random.random() < 0.5 else {}),
                **({"priority": random.choice([50, 100, 200])} if random.random() < 0.3 else {}),
            }
            for n in range(random.choice([1, 2, 3]))
        ]
        total = sum(leaf["guaranteed"]["gpu"] for leaf in leaves)
        inner: dict[str, Any] = {"id": parent, "guaranteed": {"gpu": max(total, random.choice([0, 8, 16]))}}
        if random.random() < 0.3:
            inner["over_quota_weight"] = 3
        queues += [inner, *leaves]
    return {
        "apiVersion": "apportion.dev/v1",
        "kind": "Policy",
        "organisation": {"name": "acme", "owner": "@acme/platform"},
        "node_pools": [
            {
                "id": "gpus",
                "provider": {"kind": "fixed"},
                "cpu": 96,
                "memory": "900Gi",
                "accelerator": {"model": "h100", "count": 8},
                "min_nodes": N_NODES,
                "max_nodes": N_NODES,
            }
        ],
        "queues": queues,
        "environments": [
            {
                "name": "prod",
                "clusters": [{"name": "one", "engine": "kai", "engine_version": "0.17.0", "pools": ["gpus"]}],
            }
        ],
    }


def _shares_of_the_core(policy: PolicySide) -> dict[str, float]:
    """The core's fair shares where every leaf queue has twice as much waiting work as there are GPUs."""
    leaves = [queue for queue in policy.facts.parents if queue not in policy.facts.parents.values()]
    waiting = {f"w-{queue}": {"queue": queue, "gpus": 8, "pods": 2 * N_NODES} for queue in leaves}
    objects = [*objects_of({"nodes": N_NODES, "queues": {}, "pending": waiting}), *manifests_of(policy, "prod/one")]
    kept = [each for each in objects if each["kind"] in ("Node", "Pod", "PodGroup", "Queue")]
    located = [LocatedObject(yaml.safe_load(yaml.safe_dump(_plain(each))), ObjectLocation(0, 0)) for each in kept]
    cluster = read_cluster(located, [], now=None, shard=None)
    session = Session(cluster.snapshot, cluster.settings)
    return {name: session.shares.queues[name].fair[2] for name in policy.facts.parents}


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("seed", range(24))
def test_shares_equal_those_of_the_core(seed: int, tmp_path: Path) -> None:
    policy = side(tmp_path, yaml.safe_dump(_policy(Random(seed))), "policy")
    (inputs,) = kai_inputs(manifests_of(policy, "prod/one"), {"gpu": N_NODES * 8000})
    ours = proof_of("head", Demand.EVERYONE, inputs).shares()
    assert {name: share / 1000 for name, share in ours.items()} == _shares_of_the_core(policy)


def test_rows_have_shares_on_both_sides(tmp_path: Path) -> None:
    document = _policy(Random(1))
    base = side(tmp_path, yaml.safe_dump(document), "base")
    leaf = next(queue for queue in document["queues"] if "parent" in queue)
    leaf["guaranteed"]["gpu"] += 1
    head = side(tmp_path, yaml.safe_dump(document), "head")
    made = policy_review(base, head, ReviewInputs())
    check("review", review_json(made))
    (cluster,) = made.clusters
    counted = [row for row in cluster.shares if row.base is not None and row.base.shares]
    assert {row.resource for row in counted} == {"gpu"}
    top = [row for row in counted if head.facts.parents[row.queue] is None]
    assert sum(row.head.shares[Demand.EVERYONE] for row in top if row.head is not None) <= N_NODES * 8000
