"""Koordinator on a simulated cluster: quotas, gangs, preemption and revocation."""

from __future__ import annotations

import pytest

from .koordinator_clusters import (
    GPU,
    ROOT,
    TWO_NODES,
    config_map,
    pods,
    priority_class,
    profile,
    quota,
    run,
    times,
    why,
)

A, B = quota("a", 4, 8), quota("b", 4, 8)
HIGH, LOW = priority_class("high", 100), priority_class("low", 10)


def test_idle_guarantee_is_lent() -> None:
    history = run(TWO_NODES + "workloads: [{name: w, kind: Job, queue: a, pods: 8, gpus: 1, duration: 10m}]", A, B)
    assert times(history, "bound", "w") == [0.0] * 8


def test_guarantee_that_is_not_lent_is_kept_free() -> None:
    history = run(
        TWO_NODES + "workloads: [{name: w, kind: Job, queue: a, pods: 8, gpus: 1, duration: 10m}]",
        A,
        quota("b", 3, 8, lends=False),
    )
    assert times(history, "bound", "w") == [0.0] * 5 + [602.0] * 3
    assert why(history, "waiting", "w").startswith(
        "0/2 nodes are available: Insufficient quotas, quotaName: a, runtime: nvidia.com/gpu:5, used: nvidia.com/gpu:5, "
        "pod's request: nvidia.com/gpu:1, exceedDimensions: [nvidia.com/gpu]."
    )


def test_surplus_is_divided_by_weight() -> None:
    history = run(
        TWO_NODES
        + """
workloads:
  - {name: x, kind: Job, queue: a, pods: 8, gpus: 1, duration: 10m}
  - {name: y, kind: Job, queue: b, pods: 8, gpus: 1, duration: 10m}
""",
        quota("a", 0, 8, weight=3),
        quota("b", 0, 8, weight=1),
    )
    assert len([at for at in times(history, "bound", "x") if at == 0.0]) == 6
    assert len([at for at in times(history, "bound", "y") if at == 0.0]) == 2


def test_limit_of_a_parent_applies_to_its_children() -> None:
    history = run(
        TWO_NODES + "workloads: [{name: w, kind: Job, queue: a, pods: 4, gpus: 1, duration: 10m}]",
        quota("p", 0, 2, is_parent=True),
        quota("a", 0, 8, parent="p"),
    )
    assert times(history, "bound", "w") == [0.0] * 2 + [602.0] * 2


def test_overused_quota_loses_its_newest_pods_after_the_delay() -> None:
    history = run(
        TWO_NODES
        + """
workloads:
  - {name: old, kind: Job, queue: a, pods: 6, gpus: 1, duration: 30m}
  - {name: new, kind: Job, queue: a, pods: 2, gpus: 1, at: 5m, duration: 30m}
  - {name: owner, kind: Job, queue: b, pods: 3, gpus: 1, at: 10m, duration: 10m}
""",
        A,
        B,
    )
    assert sorted(pods(history, "evicted", "new")) == ["new-0", "new-1"]
    assert times(history, "evicted", "new") == [720.0] * 2
    assert len(pods(history, "evicted", "old")) == 1
    assert why(history, "evicted", "new") == "quota a used more than its runtime quota for 120s"
    # The grace period of the evicted pods is 30 seconds.
    assert times(history, "bound", "owner") == [750.0] * 3


def test_delay_of_the_revocation_is_that_of_the_configuration() -> None:
    text = (
        TWO_NODES
        + """
workloads:
  - {name: old, kind: Job, queue: a, pods: 8, gpus: 1, duration: 30m}
  - {name: owner, kind: Job, queue: b, pods: 1, gpus: 1, at: 10m, duration: 10m}
"""
    )
    slow = config_map(profile(delayEvictTime="5m0s"))
    assert times(run(text, A, B, config=slow), "evicted", "old") == [900.0]
    never = config_map(profile(monitorAllQuotas=False))
    assert times(run(text, A, B, config=never), "evicted", "old") == []


def test_non_preemptible_pods_are_limited_to_the_guarantee_and_never_revoked() -> None:
    fixed = {"quota.scheduling.koordinator.sh/preemptible": "false", "quota.scheduling.koordinator.sh/name": "a"}
    pod = f"{{name: p, kind: Pod, count: 6, gpus: 1, labels: {fixed}, duration: 30m}}"
    history = run(TWO_NODES + f"workloads: [{pod}]".replace("'", '"'), quota("a", 4, 8))
    bound = [fact.workload for fact in history.facts if fact.what == "bound" and fact.at_s == 0.0]
    assert bound == ["p-0", "p-1", "p-2", "p-3"]
    assert "Insufficient non-preemptible quotas, quotaName: a, min: nvidia.com/gpu:4" in why(history, "waiting", "p-4")
    assert not history.taken


def test_start_counts_the_pods_that_are_bound_at_its_time() -> None:
    history = run(
        TWO_NODES
        + """
workloads:
  - {name: gang, kind: Job, queue: a, pods: 4, min: 4, gpus: 1, duration: 30m}
  - {name: job, kind: Job, queue: b, pods: 6, gpus: 1, at: 1m, duration: 30m}
""",
        A,
        B,
    )
    starts = {fact.workload: (fact.at_s, fact.why) for fact in history.facts if fact.what == "started"}
    assert starts == {"gang": (0.0, "4 pods placed"), "job": (60.0, "4 pods placed")}


def test_pod_preempts_within_its_quota_alone() -> None:
    history = run(
        TWO_NODES
        + """
workloads:
  - {name: other, kind: Job, queue: b, priority: low, pods: 4, gpus: 1, duration: 30m}
  - {name: own, kind: Job, queue: a, priority: low, pods: 4, gpus: 1, duration: 30m}
  - {name: urgent, kind: Job, queue: a, priority: high, pods: 2, gpus: 1, at: 1m, duration: 10m}
""",
        A,
        B,
        HIGH,
        LOW,
        config=config_map(profile(monitorAllQuotas=False)),
    )
    assert len(pods(history, "evicted", "own")) == 2
    assert pods(history, "evicted", "other") == []
    assert why(history, "evicted", "own") == "lower priority than urgent-0 in quota a (10 < 100)"
    assert times(history, "bound", "urgent") == [90.0] * 2


def test_full_quota_preempts_even_if_nodes_are_free() -> None:
    history = run(
        TWO_NODES
        + """
workloads:
  - {name: own, kind: Job, queue: a, priority: low, pods: 2, gpus: 1, duration: 30m}
  - {name: urgent, kind: Job, queue: a, priority: high, pods: 1, gpus: 1, at: 1m, duration: 10m}
""",
        quota("a", 0, 2),
        HIGH,
        LOW,
    )
    assert len(pods(history, "evicted", "own")) == 1
    assert times(history, "bound", "urgent") == [90.0]


def test_gang_starts_as_a_whole() -> None:
    history = run(
        TWO_NODES
        + """
workloads:
  - {name: first, kind: Job, queue: a, pods: 6, gpus: 1, duration: 10m}
  - {name: gang, kind: Job, queue: a, pods: 4, min: 4, gpus: 1, at: 1s, duration: 10m}
""",
        A,
    )
    assert times(history, "bound", "gang") == [602.0] * 4
    assert why(history, "waiting", "gang").startswith(
        'GangGroup "default/gang" gets rejected due to member Pod "default/gang-2" is unschedulable with reason'
    )


def test_gang_beyond_its_minimum_starts_pod_by_pod() -> None:
    history = run(
        TWO_NODES + "workloads: [{name: gang, kind: Job, queue: a, pods: 10, min: 4, gpus: 1, duration: 10m}]", A
    )
    assert times(history, "bound", "gang") == [0.0] * 8 + [602.0] * 2


def test_gang_waits_for_all_its_pods() -> None:
    gang = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "3"}
    pod = "{name: p, kind: Pod, queue: a, gpus: 1, count: COUNT, every: 1m, annotations: GANG, duration: 10m}"
    text = TWO_NODES + f"workloads: [{pod}]".replace("GANG", str(gang).replace("'", '"'))
    history = run(text.replace("COUNT", "2"), A)
    assert why(history, "waiting", "p-0") == (
        "gangGroup [default/g] basic check: memberGangs [default/g] child pod not collect enough, current gang: "
        "default/g, podName: default/p-0"
    )
    assert not times(history, "bound", "p-0")
    complete = run(text.replace("COUNT", "3"), A)
    assert {fact.at_s for fact in complete.facts if fact.what == "bound"} == {120.0}


def test_namespace_selects_the_quota() -> None:
    text = TWO_NODES + "workloads: [{name: w, kind: Job, namespace: team, pods: 3, gpus: 1, duration: 10m}]"
    history = run(text, quota("a", 0, 1, namespaces=("team",)))
    assert history.workloads[0].queue == "a"
    assert times(history, "bound", "w") == [0.0, 602.0, 1204.0]


def test_pods_without_a_quota_are_unlimited() -> None:
    history = run(TWO_NODES + "workloads: [{name: w, kind: Job, pods: 8, gpus: 1, duration: 10m}]", quota("a", 0, 1))
    assert times(history, "bound", "w") == [0.0] * 8
    assert history.workloads[0].queue == ""


_CPUS = """
workloads:
  - {name: other, kind: Pod, cpu: 4, duration: 30m}
  - {name: w, kind: Job, queue: a, pods: 40, cpu: 1, at: 1m, duration: 10m}
  - {name: v, kind: Job, queue: b, pods: 40, cpu: 1, at: 1m, duration: 10m}
"""


def test_request_without_a_quota_distorts_the_division_of_cpu() -> None:
    quotas = quota("a", 0, 64, resource="cpu"), quota("b", 0, 64, resource="cpu")

    def n_started(config: dict[str, object] | None = None) -> int:
        return times(run(TWO_NODES + _CPUS, *quotas, config=config), "bound", "w").count(60.0)

    # The weight of the default quota, its max in millicores, overflows to -600: the others share 60 cores by 1000/1400.
    assert n_started() == 40
    assert n_started(config_map(profile(defaultQuotaGroupMax={"cpu": "1m", "memory": "1"}))) == 30


def test_gpus_are_packed_on_one_node() -> None:
    history = run(TWO_NODES + "workloads: [{name: w, kind: Job, queue: a, pods: 4, gpus: 1, duration: 10m}]", A)
    assert len({fact.node for fact in history.facts if fact.what == "bound"}) == 1


def test_pods_of_a_parent_quota_are_denied() -> None:
    text = TWO_NODES + "workloads: [{name: w, kind: Pod, queue: p, gpus: 1, duration: 10m}]"
    history = run(text, quota("p", 0, 4, is_parent=True))
    assert why(history, "refused", "w") == "pod can not be linked to a parentQuotaGroup,quota:p, pod:w"


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        (
            "labels: {pod-group.scheduling.sigs.k8s.io: g}",
            "the label pod-group.scheduling.sigs.k8s.io is not simulated",
        ),
        (
            "annotations: {gang.scheduling.koordinator.sh/match-policy: only-waiting}",
            "gang.scheduling.koordinator.sh/match-policy: only-waiting is not simulated; use once-satisfied",
        ),
        (
            'annotations: {gang.scheduling.koordinator.sh/network-topology-spec: "{}"}',
            "the annotation gang.scheduling.koordinator.sh/network-topology-spec is not simulated",
        ),
        (
            'annotations: {gang.scheduling.koordinator.sh/groups: "[]"}',
            "the annotation gang.scheduling.koordinator.sh/groups is not simulated",
        ),
        (
            "priority: mid",
            (
                "priority 7500 is in the band koord-mid, where Koordinator replaces cpu and memory requests "
                "with mid resources; this replacement is not simulated"
            ),
        ),
    ],
)
def test_pods_with_other_features_are_refused(metadata: str, said: str) -> None:
    text = TWO_NODES + f"workloads: [{{name: w, kind: Pod, queue: a, gpus: 1, {metadata}, duration: 10m}}]"
    assert said in why(run(text, A, priority_class("mid", 7500)), "refused", "w")


def test_pods_of_a_model_tree_run_on_its_nodes() -> None:
    tree = {
        "apiVersion": "quota.koordinator.sh/v1alpha1",
        "kind": "ElasticQuotaProfile",
        "metadata": {
            "name": "gpu-tree",
            "labels": {"quota.scheduling.koordinator.sh/tree-id": "h100"},
            "annotations": {"quota.scheduling.koordinator.sh/resource-keys": f'["{GPU}"]'},
        },
        "spec": {
            "quotaName": "gpu-tree",
            "quotaLabels": {"quota.scheduling.koordinator.sh/is-parent": "true"},
            "nodeSelector": {"matchLabels": {"model": "h100"}},
        },
    }
    team = quota("team", 0, 8, parent="gpu-tree")
    team["metadata"]["labels"]["quota.scheduling.koordinator.sh/tree-id"] = "h100"
    history = run(
        """
nodes:
  - {pool: a, count: 1, gpus: 4, cpu: 32, memory: 128Gi, labels: {model: l4}}
  - {pool: b, count: 1, gpus: 4, cpu: 32, memory: 128Gi, labels: {model: h100}}
until: 1h
workloads: [{name: w, kind: Job, queue: team, pods: 6, gpus: 1, duration: 10m}]
""",
        tree,
        team,
    )
    assert times(history, "bound", "w") == [0.0] * 4 + [602.0] * 2
    assert {fact.node for fact in history.facts if fact.what == "bound"} == {"b-0000"}


def test_queues_are_the_quotas_below_the_root() -> None:
    history = run(TWO_NODES + "workloads: []", quota("p", 0, 4, is_parent=True), quota("a", 0, 4, parent="p"))
    assert history.parents == {"p": None, "a": "p"}
    assert ROOT not in history.parents


def test_waiting_pod_of_the_own_gang_is_not_evicted() -> None:
    gang = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "3"}
    labels = {"quota.scheduling.koordinator.sh/name": "a"}
    each = "{{name: {0}, kind: Pod, gpus: 1, priority: {1}, labels: {2}, annotations: {3}, duration: 10m}}"
    works = [each.format(name, level, labels, gang) for name, level in (("x", "low"), ("y", "high"), ("z", "high"))]
    text = f"nodes: [{{pool: gpu, gpus: 2, cpu: 32, memory: 128Gi}}]\nuntil: 5m\nworkloads: [{', '.join(works)}]"
    history = run(text.replace("'", '"'), quota("a", 0, 8), HIGH, LOW)
    assert times(history, "bound", "x") == []
    assert not history.taken
    assert "is unschedulable" in why(history, "waiting", "z")
