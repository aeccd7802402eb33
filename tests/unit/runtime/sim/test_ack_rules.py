"""ACK's rules as tables: amounts, the tree, kube-queue's accounts, its job orders, and victims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from apportion_runtime.engines.ack.victims import PendingGang, PlacedPod, add, over_max, victims
from apportion_runtime.kube_queue.amounts import amounts, text
from apportion_runtime.kube_queue.job_queue import Backoff, JobQueue, Policy, QueueSettings, Unit, read_queue
from apportion_runtime.kube_queue.quota_accounts import QuotaAccounts
from apportion_runtime.kube_queue.timestamps import stamp
from apportion_runtime.kube_queue.tree import Tree, TreeError, read_tree

VIDEO, TEXT, INTERNS = "root/algorithm/video", "root/algorithm/text", "root/algorithm/interns"
Node = dict[str, Any]


def node(name: str, least: Mapping[str, Any], most: Mapping[str, Any], *children: Node, **more: Any) -> Node:
    return {"name": name, "min": least, "max": most, **({"children": list(children)} if children else {}), **more}


def tree(*, lent: str | None = None, algorithm_max: int = 40) -> Tree:
    """Return the seed's: video and text are promised 12 cores and may use 14, the interns 0 and 8."""
    attributes = {} if lent is None else {"attributes": {"alibabacloud.com/lendlimit": lent}}
    root = node(
        "cluster", {"cpu": 40}, {"cpu": 40},
        node(
            "algorithm", {"cpu": 24}, {"cpu": algorithm_max},
            node("video", {"cpu": 12, "memory": "1Gi"}, {"cpu": 14, "memory": "14Gi"}, namespaces=["video"]),
            node("text", {"cpu": 12}, {"cpu": 14}, namespaces=["text"], **attributes),
            node("interns", {"cpu": 0}, {"cpu": 8, "kube-queue/max-jobs": 2}, namespaces=["intern-1", "intern-2"]),
        ),
    )  # fmt: skip
    return read_tree({"kind": "ElasticQuotaTree", "metadata": {"name": "elasticquotatree"}, "spec": {"root": root}})


@pytest.mark.parametrize(
    ("resource", "written", "counted", "again"),
    [
        ("cpu", "500m", 500, "500m"),
        ("cpu", 12, 12_000, "12"),
        ("cpu", "0.1", 100, "100m"),
        ("memory", "14Gi", 14 * 2**30, "14Gi"),
        ("memory", "4G", 4_000_000_000, "3906250Ki"),
        ("memory", 0, 0, "0"),
        ("nvidia.com/gpu", 4, 4, "4"),
        ("nvidia.com/gpu", "1500m", 2, "2"),
        ("pods", 3000, 3000, "3k"),
    ],
)
def test_amounts_match_kube_queue(resource: str, written: object, counted: int, again: str) -> None:
    assert amounts({resource: written}) == {resource: counted}
    assert text(resource, counted) == again


def test_namespaces_map_to_leaves_below_root() -> None:
    made = tree()
    assert list(made.quotas) == ["root", "root/algorithm", VIDEO, TEXT, INTERNS]
    assert made.parents[VIDEO] == "root/algorithm"
    in_namespace = {"metadata": {"namespace": "intern-2"}}
    assert made.quota_of(in_namespace) == INTERNS
    labelled = {"metadata": {"namespace": "video", "labels": {"quota.scheduling.koordinator.sh/name": "text"}}}
    assert made.quota_of(labelled) == TEXT
    unknown = {"metadata": {"namespace": "video", "labels": {"quota.scheduling.alibabacloud.com/name": "nobody"}}}
    assert made.quota_of(unknown) is None


def test_equal_node_names_are_distinguished_by_path() -> None:
    """The guide's own tree has two nodes called devops."""
    inner = node("infrastructure", {}, {}, node("devops", {}, {}, namespaces=["one"]))
    root = node("root", {}, {}, inner, node("devops", {}, {}, namespaces=["two"]))
    made = read_tree({"spec": {"root": root}})
    assert list(made.shown().values()) == [
        "root", "infrastructure", "root/infrastructure/devops", "root/devops",
    ]  # fmt: skip
    assert made.quota_of({"metadata": {"namespace": "one"}}) == "root/infrastructure/devops"
    labelled = {"metadata": {"namespace": "one", "labels": {"quota.scheduling.alibabacloud.com/name": "devops"}}}
    assert made.quota_of(labelled) == "root/devops"


def _chain(depth: int) -> dict[str, Any]:
    """Return a tree with a node on each level."""
    made = node("leaf", {}, {})
    for number in range(depth - 1):
        made = node(f"n{number}", {}, {}, made)
    return made


def test_deepest_tree_is_read() -> None:
    assert len(read_tree({"spec": {"root": _chain(100)}}).quotas) == 100


@pytest.mark.parametrize(
    ("root", "why"),
    [
        (None, "spec.root: an ElasticQuotaTree must have a root"),
        ({**node("root", {}, {}), "children": ["leaf"]}, "spec.root.children[0]: `leaf` is not a mapping"),
        ({"children": {"a": 1}}, "spec.root.children: `{'a': 1}` is not a list"),
        ({"namespaces": "a"}, "spec.root.namespaces: `a` is not a list"),
        ({"max": ["cpu"]}, "spec.root.max: `['cpu']` is not a mapping"),
        ({"attributes": "a"}, "spec.root.attributes: `a` is not a mapping"),
        (node("root", {}, {}, {"min": {}}), "spec.root.children[0].name: a node must have a name"),
        (node("root", {"cpu": "many"}, {}), "spec.root.min: `many` is not a quantity such as 500m, 2 or 16Gi"),
        (
            node("root", {}, {}, node("a", {}, {}), node("a", {}, {})),
            "spec.root.children[1].name: root/a is listed twice",
        ),
        (
            node("root", {}, {}, node("a", {}, {}, attributes={"alibabacloud.com/lendlimit": "{"})),
            "spec.root.children[0].attributes[alibabacloud.com/lendlimit]:",
        ),
        (
            node("root", {}, {}, attributes={"alibabacloud.com/lendlimit": "[" * 100_000}),
            "spec.root.attributes[alibabacloud.com/lendlimit]: the value is nested too deeply",
        ),
        (_chain(101), "spec.root: the tree has more than 100 levels"),
        (_chain(5000), "spec.root: the tree has more than 100 levels"),
    ],
)
def test_invalid_tree_names_the_node(root: object, why: str) -> None:
    with pytest.raises(TreeError) as refused:
        read_tree({"spec": {"root": root}})
    assert str(refused.value).startswith(why)


HELD = Sequence[tuple[str, int, bool]]


@pytest.mark.parametrize(
    ("held", "quota", "cpu", "preemptible", "refused"),
    [
        ([], VIDEO, 14, True, None),
        ([], VIDEO, 15, True, "Insufficient quota(cpu) in quota root/algorithm/video: request 15, max 14, used 0"),
        ([(VIDEO, 12, True)], VIDEO, 12, True, "request 12, max 14, used 12"),
        # Of who is not preemptible `min` counts, and what preemptible ones use of it does not.
        ([(VIDEO, 12, True)], VIDEO, 12, False, None),
        ([(VIDEO, 12, False)], VIDEO, 1, False, "request 1, min 12, used 12, preempt 0"),
        ([(INTERNS, 4, True)] * 2, INTERNS, 0, True, "Insufficient quota(jobs) in quota root/algorithm/interns: request 1, max 2, used 2"),
        ([(INTERNS, 1, False)], VIDEO, 12, False, None),
    ],
)  # fmt: skip
def test_job_is_dequeued_within_its_quota(
    held: HELD, quota: str, cpu: int, preemptible: bool, refused: str | None
) -> None:
    book = QuotaAccounts(tree())
    for at, amount, is_preemptible in held:
        book.reserve(at, {"cpu": amount * 1000}, preemptible=is_preemptible)
    said = book.refusal(quota, {"cpu": cpu * 1000}, preemptible=preemptible)
    assert (said is None) == (refused is None)
    assert (refused or "") in ("" if said is None else said.why)


def test_full_parent_refuses_only_borrowing() -> None:
    book = QuotaAccounts(tree(algorithm_max=24))
    book.reserve(TEXT, {"cpu": 14_000}, preemptible=True)
    said = book.refusal(VIDEO, {"cpu": 13_000}, preemptible=True)
    assert said is not None
    assert said.at == "root/algorithm"
    assert said.why == (
        "Insufficient quota(cpu) in parent quota root/algorithm: request 13, max 24, used 14, used+reserved 14000, "
        "oversellreate 1. Wait for running jobs to complete"
    )
    assert book.refusal(VIDEO, {"cpu": 12_000}, preemptible=True) is None
    assert book.refusal(VIDEO, {"cpu": 12_000}, preemptible=False) is None


def test_memory_limit_of_2_gib_is_ignored() -> None:
    assert QuotaAccounts(tree()).refusal(VIDEO, {"cpu": 1000, "memory": 2**40}, preemptible=True) is None
    said = QuotaAccounts(tree()).refusal(VIDEO, {"cpu": 1000, "memory": 2**31}, preemptible=False)
    assert said is not None
    assert "Insufficient quota(memory)" in said.why


@pytest.mark.parametrize(("lent", "n_cpu"), [(None, 24), ('{"cpu": 12}', 24), ('{"cpu": 8}', 20), ('{"cpu": 1}', 13)])
def test_unlent_quota_is_reserved(lent: str | None, n_cpu: int) -> None:
    made = tree(lent=lent, algorithm_max=24)
    book = QuotaAccounts(made)
    book.reserve(INTERNS, {"cpu": (n_cpu - 13) * 1000}, preemptible=True)
    assert book.refusal(VIDEO, {"cpu": 13_000}, preemptible=True) is None
    assert book.refusal(VIDEO, {"cpu": 14_000}, preemptible=True) is not None
    # The quota itself may use what it keeps.
    assert book.refusal(TEXT, {"cpu": 12_000}, preemptible=True) is None


def test_released_quota_is_free_at_every_level() -> None:
    book = QuotaAccounts(tree())
    book.reserve(VIDEO, {"cpu": 5}, preemptible=False)
    book.unreserve(VIDEO, {"cpu": 5}, preemptible=False)
    assert book.used == {path: {"cpu": 0} for path in (VIDEO, "root/algorithm", "root")}
    assert book.fixed == book.used
    assert set(book.n_jobs.values()) == {0}


def always(refused_by: str, n_given: int) -> bool:
    return True


def never(refused_by: str, n_given: int) -> bool:
    return False


def unit(job: int, *, priority: int = 0, since: float = 0.0) -> Unit:
    return Unit(job, f"job-{job}-ray-qu", "video", VIDEO, {"cpu": 1000}, priority, True, since)


def queue(policy: Policy, *units: Unit, backoff: Backoff | None = None) -> JobQueue:
    made = JobQueue(QueueSettings("q", VIDEO, policy, backoff=backoff or Backoff()))
    for each in units:
        made.put(each)
    return made


def jobs(units: Sequence[Unit]) -> list[int]:
    return [each.job for each in units]


def test_jobs_are_ordered_by_priority_and_time() -> None:
    made = queue(Policy.ROUND, unit(0, since=5), unit(1, since=4), unit(2, priority=1, since=9), unit(3, since=4))
    assert jobs(made.active()) == [2, 1, 3, 0]
    assert made.details()["active"][0] == {"name": "job-2-ray-qu", "namespace": "video", "position": 1, "priority": 1}


@pytest.mark.parametrize(
    ("policy", "after_refusal", "after_giving_back"), [("Round", 1, 1), ("Block", None, 0), ("Priority", 1, 0)]
)
def test_policies_order_jobs_after_a_refusal(policy: str, after_refusal: int | None, after_giving_back: int) -> None:
    made = queue(Policy(policy), unit(0), unit(1))
    made.refuse(0, 100.0, VIDEO, 0)
    tried = made.next()
    assert (None if tried is None else tried.job) == after_refusal
    assert jobs(made.silent()) == [0]
    made.given_back(never)
    tried = made.next()
    assert tried is not None
    assert tried.job == after_giving_back


def test_backoff_doubles_up_to_20_seconds() -> None:
    made, now = queue(Policy.ROUND, unit(0)), 0.0
    lasted = []
    for _ in range(7):
        made.refuse(0, now, VIDEO, 0)
        assert made.wakes_at(always) is None, "nothing was given back meanwhile"
        at = made.wakes_at(never)
        assert at is not None
        assert not made.wake(at - 0.001)
        lasted.append(at - now)
        assert made.wake(at)
        assert jobs(made.active()) == [0]
        now = at
    assert lasted == [1, 2, 4, 8, 16, 20, 20]
    assert Backoff(1, 5).after(10_000) == 5


@pytest.mark.parametrize("now", [0.5, 1.0, 1.5, 3.0, 30.5, 31.0, 50.9, 51.0, 51.1, 1000.0, 12_345.6])
def test_skipped_attempts_are_counted(now: float) -> None:
    made = queue(Policy.ROUND, unit(0))
    made.refuse(0, 0.0, VIDEO, 0)
    attempts, at = 1, 1.0
    while at < now:
        attempts += 1
        at += Backoff().after(attempts)
    made.catch_up(now, always)
    assert (made.units[0].attempts, made.units[0].silent_until) == (attempts, at)


def test_refusal_is_cached_until_quota_is_released() -> None:
    book = QuotaAccounts(tree())
    for path in (TEXT, INTERNS):
        book.reserve(path, {"cpu": 1000}, preemptible=True)
    before = {path: book.n_given.get(path, 0) for path in ("root/algorithm", TEXT, INTERNS)}
    book.unreserve(INTERNS, {"cpu": 1000}, preemptible=True)
    assert {path: book.would_fail_again(path, count) for path, count in before.items()} == {
        "root/algorithm": False, TEXT: True, INTERNS: False,
    }  # fmt: skip


def test_requeued_job_backs_off_despite_released_quota() -> None:
    made = queue(Policy.PRIORITY, unit(0))
    made.refuse(0, 0.0, "", 0)
    assert not made.given_back(never)
    assert made.wakes_at(always) == 1.0
    assert made.wake(1.0)


def test_jump_sets_the_lowest_leading_priority() -> None:
    made = queue(Policy.ROUND, unit(0, priority=500), unit(1), unit(2))
    assert made.first_priority(0) == 500
    assert made.first_priority(2) == 501
    made.change_priority(2, 501, now=3.0)
    assert jobs(made.active()) == [2, 0, 1]
    assert made.first_priority(2) == 501


def test_invalid_queue_priority_is_reported() -> None:
    with pytest.raises(ValueError, match=r"^Queue q: spec\.priority: `high` is not an integer$"):
        read_queue({"metadata": {"name": "q"}, "spec": {"priority": "high"}})


def test_queue_object_sets_policy_and_backoff() -> None:
    notes = {"kube-queue/quota-fullname": VIDEO, "kube-queue/queue-args": "podMaxBackoffSeconds: '300'"}
    made = read_queue(
        {"metadata": {"name": "q", "annotations": notes}, "spec": {"queuePolicy": "Block", "priority": 7}}
    )
    assert made == QueueSettings("q", VIDEO, Policy.BLOCK, 7, Backoff(1.0, 300.0))
    assert read_queue({"metadata": {"name": "q"}, "spec": {"queuePolicy": "Odd"}}).policy is Policy.ROUND
    for odd in ("podMaxBackoffSeconds: 0.5", "podMaxBackoffSeconds: soon", "- 1", "{"):
        with pytest.raises(ValueError, match="Queue q: kube-queue/queue-args is"):
            read_queue({"metadata": {"name": "q", "annotations": {"kube-queue/queue-args": odd}}})


@pytest.mark.parametrize(
    ("elapsed_s", "written"),
    [
        (0.0, "2025-01-10 01:36:24 +0000 UTC m=+0.000000000"),
        (1.25, "2025-01-10 01:36:25.25 +0000 UTC m=+1.250000000"),
        (132_100.596012, "2025-01-11 14:18:04.596012 +0000 UTC m=+132100.596012000"),
    ],
)
def test_timestamps_match_go(elapsed_s: float, written: str) -> None:
    assert stamp(1_736_472_984.0, elapsed_s) == written


def held(uid: str, quota: str | None, cpu: int, *, priority: int = 0, since: float = 0.0) -> PlacedPod:
    return PlacedPod(uid, quota, {"cpu": cpu * 1000}, priority, since)


def usage(of: Tree, pods: Sequence[PlacedPod]) -> dict[str, dict[str, int]]:
    used: dict[str, dict[str, int]] = {path: {} for path in of.quotas}
    for pod in pods:
        if pod.quota is not None:
            add(of, used, pod.quota, pod.amount)
    return used


CROWD = (
    held("text-1", TEXT, 7, since=1), held("text-2", TEXT, 7, since=9), held("intern-1", INTERNS, 4, since=2),
    held("intern-2", INTERNS, 4, since=3), held("nobody", None, 50), held("video-low", VIDEO, 1, priority=-5),
)  # fmt: skip


@pytest.mark.parametrize(
    ("quota", "cpu", "priority", "crowd", "taken"),
    [
        # Within its min: first who is promised nothing, the newest of them first.
        (VIDEO, 4, 0, CROWD, ("reclaim", ["intern-2"])),
        (VIDEO, 8, 0, CROWD, ("reclaim", ["intern-1", "intern-2"])),
        # Then who has more than its min, until it has not; of all of them nobody goes who is not needed.
        (VIDEO, 11, 0, CROWD, ("reclaim", ["intern-2", "text-2"])),
        # A higher priority protects, also an intern.
        (VIDEO, 4, 0, (held("i", INTERNS, 4, priority=9), held("t", TEXT, 14)), ("reclaim", ["t"])),
        # Others who are within their min give nothing.
        (VIDEO, 4, 0, (held("t", TEXT, 12),), None),
        # Beyond its min, a quota takes its own of lower priority alone.
        (VIDEO, 13, 0, (*CROWD, held("video-2", VIDEO, 13, priority=-1)), ("preempt", ["video-2"])),
        (INTERNS, 4, 9, CROWD, ("preempt", ["intern-2"])),
        (INTERNS, 4, 0, CROWD, None),
        (None, 4, 99, CROWD, None),
    ],
)
def test_victim_selection(
    quota: str | None, cpu: int, priority: int, crowd: Sequence[PlacedPod], taken: tuple[str, list[str]] | None
) -> None:
    """The gang fits as soon as those who go leave as many cores as it asks for."""
    wanting = PendingGang(quota, {"cpu": cpu * 1000}, priority)
    found = victims(
        tree(),
        usage(tree(), crowd),
        wanting,
        lambda path, below: [pod for pod in crowd if pod.quota == path and pod.priority < below],
        lambda gone: sum(pod.amount["cpu"] for pod in gone) >= wanting.amount["cpu"],
    )
    assert (None if found is None else (found[0], sorted(pod.uid for pod in found[1]))) == taken


def test_pod_is_limited_by_max_of_every_ancestor() -> None:
    made = tree(algorithm_max=24)
    used = usage(made, [held("t", TEXT, 14)])
    assert over_max(made, used, VIDEO, {"cpu": 10_000}) is None
    assert over_max(made, used, VIDEO, {"cpu": 11_000}) == "root/algorithm"
    assert over_max(made, used, VIDEO, {"cpu": 15_000}) == VIDEO
    assert over_max(made, used, None, {"cpu": 99_000}) is None
