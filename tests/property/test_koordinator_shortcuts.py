"""Koordinator takes the same course with plain searches and divisions as with what is kept between them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_runtime.engines.koordinator.model import MODEL
from apportion_runtime.engines.koordinator.quota_accounts import exceeded
from apportion_runtime.engines.koordinator.quota_tree import QuotaTree
from apportion_runtime.engines.koordinator.revocation import Revocation
from apportion_runtime.engines.koordinator.scheduler import KoordScheduler
from apportion_runtime.engines.kube_scheduler import NodeState, PodFacts
from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRankings
from apportion_runtime.snapshots.pod_requests import Amounts

from . import test_simulation_chaos_of_engines as chaos_of_engines

pytestmark = pytest.mark.property
_GPU = "nvidia.com/gpu"
_PREFIX = "quota.scheduling.koordinator.sh"


def _configuration(rng: random.Random) -> str:
    quota = {
        "enableCheckParentQuota": rng.random() < 0.5,
        "monitorAllQuotas": rng.random() < 0.7,
        "enableMinQuotaScale": rng.random() < 0.5,
        "delayEvictTime": "30s",
    }
    score = [{"name": "NodeResourcesFitPlus", "weight": 10}, {"name": "NodeNUMAResource", "weight": 1}]
    resources = {_GPU: {"type": rng.choice(("MostAllocated", "LeastAllocated")), "weight": 1}}
    names = [{"name": "Coscheduling"}, {"name": "ElasticQuota"}]
    plugins = {
        "preFilter": {"enabled": names},
        "postFilter": {"disabled": [{"name": "*"}], "enabled": names},
        "preScore": {"enabled": score[:1]},
        "score": {"disabled": [{"name": "NodeResourcesFit"}], "enabled": score},
        "permit": {"enabled": names[:1]},
    }
    arguments = [
        {"name": "ElasticQuota", "args": quota},
        {"name": "NodeResourcesFitPlus", "args": {"resources": resources}},
    ]
    profile = {"schedulerName": "koord-scheduler", "pluginConfig": arguments, "plugins": plugins}
    return json.dumps({"profiles": [profile]})


def _objects(seed: int) -> tuple[dict[str, Any], ...]:
    rng = random.Random(seed)

    def quota(name: str, parent: str, least: int, most: int, *, is_parent: bool = False) -> dict[str, Any]:
        labels = {
            f"{_PREFIX}/parent": parent,
            f"{_PREFIX}/is-parent": str(is_parent).lower(),
            f"{_PREFIX}/allow-lent-resource": rng.choice(("true", "true", "false")),
        }
        return {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
            "metadata": {"name": name, "namespace": "koordinator-system", "labels": labels},
            "spec": {"min": {"cpu": 0, _GPU: least}, "max": {"cpu": 200, _GPU: most}},
        }  # fmt: skip

    data = {"koord-scheduler-config": _configuration(rng)}
    metadata = {"name": "koord-scheduler-config", "namespace": "koordinator-system"}
    return (
        *chaos_of_engines._CLASSES,
        chaos_of_engines._AUTOSCALER,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data},
        quota("top", "koordinator-root-quota", rng.randint(4, 20), 24, is_parent=True),
        quota("q0", "top", rng.randint(0, 4), 6),
        quota("q1", "top", rng.randint(0, 8), 24),
        quota("q2", "koordinator-root-quota", rng.randint(0, 8), 24),
    )


def _refresh(tree: QuotaTree, name: str) -> None:
    if name in tree._own:
        return
    total: Amounts = tree.total
    parent = tree.root
    for state in reversed(list(tree.upward(name))):
        if tree._scales_min:
            scaled = state.scaled
            tree._scale(state, parent, total)
            tree.n_scalings += state.scaled != scaled
        state.runtime = total = dict(parent._divide(total)[state.spec.name])
        parent = state


def _current_runtime(tree: QuotaTree, name: str) -> Mapping[str, int]:
    before = [(state, state.scaled, state.runtime) for state in tree.upward(name)]
    n_scalings = tree.n_scalings
    _refresh(tree, name)
    tree.n_scalings = n_scalings
    found = tree.states[name].runtime
    for state, scaled, runtime in before:
        state.runtime = runtime
        if state.scaled != scaled:
            state.scaled = scaled
            tree._invalidate(tree.parent_of(state))
    return found


def _exceeds(watched: Revocation, quota: str, limit: Amounts, *, is_refreshed: bool) -> bool:
    return bool(exceeded(watched._accounts.state(quota).used, limit))


def _all_nodes(scheduler: KoordScheduler, pod: PodFacts) -> Sequence[NodeState]:
    return scheduler.nodes.all


@contextmanager
def _plain() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(patch.object(NodeRankings, "of", lambda *_: None))
        stack.enter_context(patch.object(KoordScheduler, "_with_victims", _all_nodes))
        stack.enter_context(patch.object(QuotaTree, "refresh", _refresh))
        stack.enter_context(patch.object(QuotaTree, "current_runtime", _current_runtime))
        stack.enter_context(patch.object(Revocation, "_exceeds", _exceeds))
        yield


def _course(seed: int) -> str:
    """Return the history of a random cluster, byte for byte."""
    with patch.object(chaos_of_engines, "_VOLCANO", _objects(seed)):
        cluster = chaos_of_engines._cluster(MODEL, seed)
    return repr(cluster.run())


def _check(seed: int) -> None:
    expected = _course(seed)
    with _plain():
        assert _course(seed) == expected


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_decisions_do_not_depend_on_what_is_kept(seed: int) -> None:
    _check(seed)


@pytest.mark.slow
@settings(settings.get_profile("thorough"), max_examples=20)
@given(seed=st.integers(0, 100_000))
def test_decisions_do_not_depend_on_what_is_kept_in_many_clusters(seed: int) -> None:
    _check(seed)
