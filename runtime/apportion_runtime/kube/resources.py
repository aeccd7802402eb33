"""The kinds of objects that the scheduler reads, and their API paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.kai.names import POD_GROUP_API, QUEUE_API, SHARD_API, TOPOLOGY_API
from apportion_api.kubernetes.names import PRIORITY_CLASS_API

POD, POD_GROUP = "Pod", "PodGroup"
SHARD = "SchedulingShard"
VOLUME, VOLUME_CLAIM = "PersistentVolume", "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object.

    Attributes:
        kind: Its name.
        api_version: Group and version.
        plural: Its name in paths.
        is_needed: Whether the scheduler requires its definition to be installed.
    """

    kind: str
    api_version: str
    plural: str
    is_needed: bool = True

    @property
    def root(self) -> str:
        """The path of its group and version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    @property
    def definition(self) -> str:
        """The name of its definition and its version, as `queues.scheduling.run.ai (v2)`."""
        group, _, version = self.api_version.rpartition("/")
        return f"{self.plural}{group and '.'}{group} ({version})"

    @property
    def everywhere(self) -> str:
        """The path of all its objects."""
        return f"{self.root}/{self.plural}"

    def path(self, namespace: str, name: str = "") -> str:
        """Return the path of an object, or of all in a namespace."""
        place = f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else self.everywhere
        return f"{place}/{name}" if name else place


WATCHED: Mapping[str, Resource] = {
    resource.kind: resource
    for resource in (
        Resource("Node", "v1", "nodes"),
        Resource(POD, "v1", "pods"),
        Resource("Namespace", "v1", "namespaces"),
        Resource(VOLUME, "v1", "persistentvolumes"),
        Resource(VOLUME_CLAIM, "v1", "persistentvolumeclaims"),
        Resource("PriorityClass", PRIORITY_CLASS_API, "priorityclasses"),
        Resource("Queue", QUEUE_API, "queues"),
        Resource(POD_GROUP, POD_GROUP_API, "podgroups"),
        Resource(SHARD, SHARD_API, "schedulingshards", is_needed=False),
        Resource("Config", SHARD_API, "configs", is_needed=False),
        Resource("Topology", TOPOLOGY_API, "topologies", is_needed=False),
    )
}
"""The watched kinds, by name. ConfigMaps are left out: the kubelet waits for those that do not exist."""

OWNERS: Mapping[str, Resource] = {
    resource.kind: resource
    for resource in (
        Resource("ReplicaSet", "apps/v1", "replicasets"),
        Resource("Deployment", "apps/v1", "deployments"),
        Resource("StatefulSet", "apps/v1", "statefulsets"),
        Resource("Job", "batch/v1", "jobs"),
        Resource("CronJob", "batch/v1", "cronjobs"),
        Resource("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets"),
        Resource("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
        Resource("MPIJob", "kubeflow.org/v2beta1", "mpijobs"),
        Resource("PyTorchJob", "kubeflow.org/v1", "pytorchjobs"),
        Resource("TFJob", "kubeflow.org/v1", "tfjobs"),
        Resource("XGBoostJob", "kubeflow.org/v1", "xgboostjobs"),
        Resource("JAXJob", "kubeflow.org/v1", "jaxjobs"),
        Resource("RayCluster", "ray.io/v1", "rayclusters"),
        Resource("RayJob", "ray.io/v1", "rayjobs"),
        Resource("RayService", "ray.io/v1", "rayservices"),
    )
}
"""Owners of pods, by kind: read one at a time when a pod is grouped."""
CONFIG_MAP = Resource("ConfigMap", "v1", "configmaps")
LEASE = Resource("Lease", "coordination.k8s.io/v1", "leases")
