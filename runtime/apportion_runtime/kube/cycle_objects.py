"""The objects that a cycle reads, kept from cycle to cycle: those of the cluster, except for some pods.

A pod requires the nodes of its volumes, and its labels have all its GPU groups. Pods of gangs that wait for their devices
are bound, and pods that cannot be bound are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apportion_runtime.kube.cluster import Change, Key, Manifest
from apportion_runtime.kube.gpu_groups import may_have_groups, with_readable_groups
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.kube.pod_volumes import PodVolumes
from apportion_runtime.kube.resources import POD, VOLUME, VOLUME_CLAIM
from apportion_runtime.kube.unsupported_pods import UnboundPods


class CycleObjects:
    """The objects of one cluster for its cycles.

    Attributes:
        read: The objects that the cycle reads.
        pods: The pods of the cluster.
        sharing: Those that may have groups of shared devices.
        unbound: Those that are not bound.
        volumes: The volumes of the cluster, which the cycle itself does not read.
    """

    def __init__(self) -> None:
        self.read = ObjectStore()
        self.pods: dict[Key, Manifest] = {}
        self.sharing: dict[Key, Manifest] = {}
        self.unbound = UnboundPods()
        self.volumes = PodVolumes()
        self._shown: Mapping[Key, Manifest | None] = {}
        self._open: dict[Key, None] = {}

    def follow(self, changes: Iterable[Change]) -> None:
        """Follow the changes of the cluster; those of pods are read with `show`."""
        for kind, key, before, after in changes:
            if kind == POD:
                self._follow_pod(key, before, after)
            elif kind in (VOLUME, VOLUME_CLAIM):
                self._open.update(dict.fromkeys(self.volumes.follow(kind, key, after)))
            elif after is None:
                self.read.drop(kind, key)
            else:
                self.read.put(kind, key, after)

    def show(self, shown: Mapping[Key, Manifest | None]) -> None:
        """Read the pods, replacing some with the given objects; None omits a pod."""
        for key in {**self._open, **self._shown, **shown}:
            pod, before = self.pods.get(key), self.read.of(POD).get(key)
            seen = shown.get(key, pod) if pod is not None else None
            if seen is None:
                self.read.drop(POD, key)
                continue
            seen = self.volumes.with_affinity(with_readable_groups(seen))
            # A pod that is replaced is made anew in each cycle.
            if seen is not before and (seen is pod or seen != before):
                self.read.put(POD, key, seen)
        self._open, self._shown = {}, shown

    def _follow_pod(self, key: Key, before: Manifest | None, after: Manifest | None) -> None:
        self._open[key] = None
        self.unbound.follow(key, before, after)
        self.volumes.follow_pod(key, before, after)
        if after is None:
            self.pods.pop(key, None)
        else:
            self.pods[key] = after
        if after is not None and may_have_groups(after):
            self.sharing[key] = after
        else:
            self.sharing.pop(key, None)
