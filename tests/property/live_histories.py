"""Random histories of a cluster: events in any order, objects that are recreated, malformed and mended, lists that swap half."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from apportion_runtime.kube.cluster import key_of

from .live_cluster import Made, StoredCluster

START = 1_763_712_000.0
_NAMESPACES = ("lab", "team")
_QUEUES = ("all", "ghost", "nlp", "nlp", "sub", "vision", "vision")
_KAI, _TOPOLOGY = "scheduling.run.ai", "kai.scheduler/v1alpha1"
_VERSIONS = {
    "Config": "kai.scheduler/v1",
    "PodGroup": f"{_KAI}/v2alpha2",
    "PriorityClass": "scheduling.k8s.io/v1",
    "Queue": f"{_KAI}/v2",
    "SchedulingShard": "kai.scheduler/v1",
    "Topology": _TOPOLOGY,
}


class History:
    """A cluster that changes at random."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.cluster = StoredCluster(seed)
        self.now = START
        self._n_made = 0
        self.put("PriorityClass", "train", value=50)
        self.put("PriorityClass", "inference", value=125)
        for name in _NAMESPACES:
            self.put("Namespace", name, labels={"team": name})
        for number in range(self.draw.randint(1, 4)):
            self.put_node(f"n{number}")
        self.put_queue("all", None)
        self.put_queue("nlp", "all")
        self.put_queue("vision", "all")

    def advance(self) -> None:
        """Change the cluster, and move the time."""
        often = [self.add_gang, self.start_pods, self.end_pod] * 4 + [self.change_group] * 3 + [self.change_pod] * 2
        seldom = [self.change_queue, self.change_node, self.change_volumes, self.change_others, self.add_group]
        for change in self.draw.choices([*often, *seldom], k=self.draw.randint(0, 6)):
            change()
        if self.draw.random() < 0.05:
            self.swap_objects()
        self.now += self.draw.choice((1, 5, 12, 40))
        self.cluster.round += 1
        self.cluster.failing = self.draw.choice((0.0, 0.0, 0.1, 0.5))

    def put(
        self, kind: str, name: str, namespace: str = "", labels: Mapping[str, str] | None = None, **fields: Any
    ) -> Made:
        metadata: Made = {
            "name": name,
            "labels": dict(labels or {}),
            "creationTimestamp": self.time(self.draw.randint(0, 3)),
        }
        if namespace:
            metadata["namespace"] = namespace
        return self.cluster.save(
            {"apiVersion": _VERSIONS.get(kind, "v1"), "kind": kind, "metadata": metadata, **fields}
        )

    def time(self, ago_s: float) -> str:
        return datetime.fromtimestamp(self.now - ago_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def any_of(self, kind: str) -> Made | None:
        found = self.cluster.store.objects(kind)
        return copy.deepcopy(dict(self.draw.choice(found))) if found else None

    def drop(self, made: Made) -> None:
        self.cluster.store.drop(made["kind"], key_of(made))

    def recreate(self, made: Made) -> None:
        """Replace an object by another one of its name, of which the deletion is not always seen."""
        if self.draw.random() < 0.5:
            self.drop(made)
        del made["metadata"]["uid"]
        made["metadata"].pop("deletionTimestamp", None)
        made["metadata"]["creationTimestamp"] = self.time(0)
        self.cluster.save(made)

    def put_node(self, name: str) -> None:
        labels = {"zone": self.draw.choice("ab"), "rack": self.draw.choice("xyz"), "nvidia.com/gpu.memory": "40000"}
        amounts = {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": str(self.draw.randint(1, 4)), "pods": "110"}
        status = {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        self.put("Node", name, labels=labels, spec={}, status=status)

    def put_queue(self, name: str, parent: str | None) -> None:
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        gpu = {**free, "quota": self.draw.choice((-1, 0, 2, 5.5, 8)), "limit": self.draw.choice((-1, -1, 8))}
        spec = {"resources": {"gpu": gpu, "cpu": free, "memory": free}, **({"parentQueue": parent} if parent else {})}
        self.put("Queue", name, spec=spec)

    def put_group(self, name: str, namespace: str) -> None:
        draw = self.draw
        spec: Made = {"queue": draw.choice(("nlp", "vision")), "minMember": draw.randint(1, 3)}
        spec["priorityClassName"] = draw.choice(("train", "train", "inference", "ghost"))
        if draw.random() < 0.1:
            spec["subGroups"] = [{"name": "s", "minMember": 1}, {"name": "t", "minMember": 1}]
        if draw.random() < 0.1:
            spec["topologyConstraint"] = {"topology": "t", "requiredTopologyLevel": draw.choice(("zone", "rack"))}
        self.put("PodGroup", name, namespace, spec=spec)

    def put_pod(self, name: str, namespace: str, group: str | None) -> None:
        draw = self.draw
        requests, annotations = draw.choice(
            (
                ({"nvidia.com/gpu": "1"}, {}),
                ({"nvidia.com/gpu": "2"}, {}),
                ({}, {"gpu-fraction": draw.choice(("0.25", "0.3", "0.7"))}),
                ({"cpu": "500m", "memory": draw.choice(("1Gi", "1G"))}, {}),
            )
        )
        spec: Made = {
            "schedulerName": "kai-scheduler",
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        }
        labels = {"kai.scheduler/queue": draw.choice(("nlp", "vision"))}
        if draw.random() < 0.2:
            spec["nodeName"] = draw.choice(("n0", "n1", "n7"))
            spec["schedulerName"] = draw.choice(("kai-scheduler", "default-scheduler"))
        if draw.random() < 0.1:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}]
        if draw.random() < 0.1:
            labels["kai.scheduler/subgroup-name"] = draw.choice("st")
        made = self.put("Pod", name, namespace, labels, spec=spec, status={"phase": "Pending"})
        made["metadata"]["annotations"] = {**annotations, **({"pod-group-name": group} if group else {})}

    def add_gang(self) -> None:
        self._n_made += 1
        name, namespace = f"{self.draw.choice('abc')}{self._n_made}", self.draw.choice(_NAMESPACES)
        # Pods may exist before their group, or without one.
        group = name if self.draw.random() < 0.9 else None
        if group and self.draw.random() < 0.7:
            self.put_group(name, namespace)
        for number in range(self.draw.randint(1, 4)):
            self.put_pod(f"{name}-{number}", namespace, group)

    def add_group(self) -> None:
        for pod in self.cluster.objects("Pod"):
            name, namespace = pod["metadata"]["annotations"].get("pod-group-name"), pod["metadata"]["namespace"]
            if name and self.cluster.get("PodGroup", namespace, name) is None:
                self.put_group(name, namespace)
                return

    def start_pods(self) -> None:
        for pod in self.cluster.objects("Pod"):
            if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending" and self.draw.random() < 0.7:
                self.cluster.save({**pod, "status": {**pod["status"], "phase": "Running"}})

    def end_pod(self) -> None:
        if (made := self.any_of("Pod")) is None:
            return
        match self.draw.randrange(4):
            case 0:
                self.drop(made)
            case 1:
                self.cluster.save({**made, "status": {"phase": self.draw.choice(("Succeeded", "Failed"))}})
            case 2:
                made["metadata"]["deletionTimestamp"] = self.time(self.draw.choice((-30, 0, 100, 130)))
                self.cluster.save(made)
            case _:
                made["spec"].pop("nodeName", None)
                self.recreate({**made, "status": {"phase": "Pending"}})

    def change_pod(self) -> None:
        if (made := self.any_of("Pod")) is None:
            return
        annotations, labels, group = (
            made["metadata"]["annotations"],
            made["metadata"]["labels"],
            self.any_of("PodGroup"),
        )
        change: Callable[[], object] = self.draw.choice(
            (
                lambda: annotations.update({"pod-group-name": group["metadata"]["name"] if group else "none"}),
                lambda: annotations.pop("pod-group-name", None),
                lambda: annotations.update({"gpu-fraction": self.draw.choice(("0.5", "x", "-1", "nan"))}),
                lambda: labels.update({"kai.scheduler/subgroup-name": self.draw.choice("sz")}),
                lambda: labels.update({"runai-gpu-group": self.draw.choice(("1", "7", "g"))}),
                lambda: made["spec"]["containers"][0]["resources"].update(
                    requests={"nvidia.com/gpu": self.draw.choice(("many", "-1", "1"))}
                ),
                lambda: made["metadata"].update(creationTimestamp=self.draw.choice(("yesterday", self.time(0)))),
                lambda: made["spec"].setdefault("nodeName", self.draw.choice(("n0", "n9"))),
            )
        )
        change()
        self.cluster.save(made)

    def change_group(self) -> None:
        if (made := self.any_of("PodGroup")) is None:
            return
        spec, draw = made.setdefault("spec", {}), self.draw
        match draw.randrange(10):
            case 0:
                self.drop(made)
                return
            case 1:
                self.recreate(made)
                return
            case 2 | 3:
                # In another namespace, also while the former one exists.
                made["metadata"]["namespace"] = draw.choice(_NAMESPACES)
                self.recreate(made)
                return
            case 4:
                made.pop("spec")
            case 5:
                spec["minMember"] = draw.choice((-1, 0, 1, 4, "two"))
            case 6:
                spec["queue"] = draw.choice(_QUEUES)
            case 7:
                spec["preemptibility"] = draw.choice(("preemptible", "non-preemptible", "half"))
            case 8:
                spec["subGroups"] = draw.choice(([], [{"name": "s"}, {"name": "s"}], [{"name": "s", "minMember": 1}]))
            case _:
                made["spec"] = {
                    "queue": "nlp",
                    "minMember": 1,
                    "priorityClassName": draw.choice(("train", "inference")),
                }
        self.cluster.save(made)

    def change_queue(self) -> None:
        if (made := self.any_of("Queue")) is None:
            return self.put_queue("all", None)
        match self.draw.randrange(6):
            case 0:
                return self.drop(made)
            case 1:
                return self.recreate(made)
            case 2:
                return self.put_queue(self.draw.choice(_QUEUES), self.draw.choice((None, *_QUEUES)))
            case 3:
                made["spec"] = {**made.get("spec", {}), "parentQueue": self.draw.choice(_QUEUES)}
            case 4:
                made["spec"] = {"resources": {"gpu": self.draw.choice(({}, {"quota": -7}, {"quota": "few"}))}}
            case _:
                made.pop("spec", None)
        self.cluster.save(made)
        return None

    def change_node(self) -> None:
        if (made := self.any_of("Node")) is None or self.draw.random() < 0.2:
            return self.put_node(f"n{self.draw.randint(0, 5)}")
        match self.draw.randrange(8):
            case 0:
                return self.drop(made)
            case 1:
                return self.recreate(made)
            case 2:
                made["spec"]["unschedulable"] = not made["spec"].get("unschedulable", False)
            case 3:
                made["spec"]["taints"] = self.draw.choice(([], [{"key": "k", "effect": "NoSchedule"}]))
            case 4:
                made["metadata"]["labels"]["nvidia.com/gpu.memory"] = self.draw.choice(("80000", "much", "5"))
            case 5:
                made["metadata"]["labels"]["zone"] = self.draw.choice("abc")
            case 6:
                made["status"]["conditions"] = [{"type": "Ready", "status": self.draw.choice(("True", "False"))}]
            case _:
                # Also fewer devices than are in use.
                made["status"]["allocatable"]["nvidia.com/gpu"] = self.draw.choice(("0", "1", "4", "some"))
        self.cluster.save(made)
        return None

    def change_volumes(self) -> None:
        kind = self.draw.choice(("PersistentVolume", "PersistentVolumeClaim"))
        made = self.any_of(kind)
        if made is not None and self.draw.random() < 0.5:
            self.draw.choice((self.drop, self.recreate))(made)
        elif kind == "PersistentVolume":
            chosen = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [self.draw.choice("ab")]}]}]
            self.put(kind, "volume", spec={"nodeAffinity": {"required": {"nodeSelectorTerms": chosen}}})
        else:
            phase = self.draw.choice(("Bound", "Bound", "Pending"))
            self.put(
                kind, "claim", self.draw.choice(_NAMESPACES), spec={"volumeName": "volume"}, status={"phase": phase}
            )

    def change_others(self) -> None:
        kind = self.draw.choice(("PriorityClass", "Topology", "Namespace", "SchedulingShard", "Config"))
        made = self.any_of(kind)
        if made is not None and self.draw.random() < 0.5:
            return self.draw.choice((self.drop, self.recreate))(made)
        match kind:
            case "PriorityClass":
                self.put(kind, self.draw.choice(("train", "ghost")), value=self.draw.choice((10, 50, 125)))
            case "Topology":
                levels = self.draw.choice((["zone", "rack"], ["rack"], []))
                self.put(kind, "t", spec={"levels": [{"nodeLabel": label} for label in levels]})
            case "Namespace":
                self.put(kind, self.draw.choice(_NAMESPACES), labels=self.draw.choice(({}, {"team": "lab"})))
            case "SchedulingShard":
                spec: Made = self.draw.choice(({}, {"kValue": 0.5}, {"args": {"full-hierarchy-fairness": "false"}}))
                self.put(kind, "default", spec=spec)
            case _:
                self.put(kind, "kai-config", spec=self.draw.choice(({}, {"global": {"queueLabelKey": "q"}})))
        return None

    def swap_objects(self) -> None:
        """List kinds again after half of their objects were replaced: nothing in between is seen."""
        for kind in self.draw.sample(("Node", "Pod", "PodGroup", "Queue"), 2):
            kept = {}
            for key, one in self.cluster.store.of(kind).items():
                if self.draw.random() < 0.7:
                    made = copy.deepcopy(dict(one))
                    if self.draw.random() < 0.5:
                        made["metadata"]["uid"] += "x"
                    kept[key] = made
            self.cluster.store.replace(kind, kept)
