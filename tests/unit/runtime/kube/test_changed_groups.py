"""Pod groups that change between cycles: shared names, incomplete objects, members of other schedulers, lost writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.kai.names import STALE_SINCE_ANNOTATION
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.resources import POD_GROUP

from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, node, pod, pod_group, queue

Made = dict[str, Any]


def _elsewhere(made: Made) -> Made:
    return {**made, "metadata": {**made["metadata"], "namespace": "lab"}}


def _fair_share(cluster: Memory, now: float) -> float:
    (share,) = (each.fair_share for each in run_cycle(cluster, now).queues if each.name == "nlp")
    return share


def _member(name: str, group: str, **changed: Any) -> Made:
    made = pod(name, "nlp", 1, **{"pod-group-name": group})
    return {**made, "spec": {**made["spec"], **changed}}


def test_group_is_scheduled_once_another_one_of_its_name_is_gone() -> None:
    """The engine reads one of them; nothing of the other one changes when the first is deleted."""
    groups = pod_group("a", "nlp", 1), _elsewhere(pod_group("a", "nlp", 1))
    cluster = Memory(node("n1", 4), TRAIN, queue("nlp", None, 4), *groups)
    run_cycle(cluster, NOW)
    del cluster.held[POD_GROUP, "lab", "a"]
    run_cycle(cluster, NOW + 1)
    cluster.held["Pod", "team", "a-0"] = _member("a-0", "a")
    assert run_cycle(cluster, NOW + 2).bound == ["team/a-0"]


def test_objects_without_a_spec_do_not_prevent_scheduling() -> None:
    """The definitions of PodGroup and Queue do not require one."""
    empty = [
        {key: value for key, value in made.items() if key != "spec"}
        for made in (pod_group("b", "", 1), queue("top", None, 0))
    ]
    cluster = Memory(node("n1", 4), TRAIN, queue("nlp", None, 4), pod_group("a", "nlp", 1), *empty)
    for group in "ab":
        cluster.held["Pod", "team", f"{group}-0"] = _member(f"{group}-0", group)
    result = run_cycle(cluster, NOW)
    assert (result.bound, result.waiting) == (["team/a-0"], ["team/b-0"])
    assert cluster.told["b-0"] == "The job does not name a queue. Set the queue of the workload."


def test_pods_of_another_scheduler_in_a_group_reduce_the_capacity_in_every_cycle() -> None:
    cluster = Memory(node("n1", 4), TRAIN, queue("nlp", None, 0), pod_group("a", "nlp", 1))
    for number in range(8):
        cluster.held["Pod", "team", f"a-{number}"] = _member(f"a-{number}", "a")
    assert _fair_share(cluster, NOW) == 4
    for number in range(2):
        made = _member(f"other-{number}", "a", schedulerName="default-scheduler", nodeName="n1")
        cluster.held["Pod", "team", f"other-{number}"] = {**made, "status": {"phase": "Running"}}
        assert _fair_share(cluster, NOW + number) == 3 - number
    del cluster.held["Pod", "team", "other-0"]
    assert _fair_share(cluster, NOW + 2) == 3


class _LosesTimes(Memory):
    """Rejects the patches of pod groups, for example because they have changed."""

    loses = False

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        if self.loses and kind == POD_GROUP:
            raise Refused(409, "the object has been modified")
        return super().merge(kind, namespace, name, patch)

    def stale_since(self) -> str | None:
        annotations: Mapping[str, str] = self.held[POD_GROUP, "team", "a"]["metadata"].get("annotations", {})
        return annotations.get(STALE_SINCE_ANNOTATION)


def test_time_of_a_stale_gang_is_written_again_if_the_write_was_rejected() -> None:
    """Otherwise a gang that is incomplete again later would be evicted by the time of the first occasion."""
    running = _member("a-0", "a", nodeName="n1")
    cluster = _LosesTimes(node("n1", 4), TRAIN, queue("nlp", None, 4), pod_group("a", "nlp", 2), running)
    running["status"]["phase"] = "Running"
    cluster.loses = True
    run_cycle(cluster, NOW)
    cluster.loses = False
    assert cluster.stale_since() is None
    run_cycle(cluster, NOW + 1)
    assert cluster.stale_since() is not None
    second = _member("a-1", "a", nodeName="n1")
    cluster.held["Pod", "team", "a-1"] = {**second, "status": {"phase": "Running"}}
    cluster.loses = True
    run_cycle(cluster, NOW + 2)
    cluster.loses = False
    assert cluster.stale_since() is not None
    run_cycle(cluster, NOW + 3)
    assert cluster.stale_since() is None
