"""The GPUs of a node as its kubelet counts them: each is allocated to one pod or shared by several."""

from __future__ import annotations

from apportion_runtime.sim.api.cluster_state import ClusterState, DevicesInUse


class Devices:
    """The free devices of a node.

    Args:
        cluster_state: The simulated cluster.
        node: The node.
    """

    def __init__(self, cluster_state: ClusterState, node: str) -> None:
        in_use = cluster_state.devices_in_use.get(node)
        if in_use is None:
            in_use = cluster_state.devices_in_use[node] = DevicesInUse()
            for uid in cluster_state.pods_on.get(node, ()):
                in_use.add(cluster_state.pods[uid].record)
        record = cluster_state.records.nodes.get(node)
        n_devices = 0 if record is None else int(record.allocatable.get("gpu", 0))
        self._left = n_devices - in_use.n_whole - len(in_use.n_sharing)
        self._shared: set[str] = set(in_use.n_sharing)

    def take(self, n_whole: int, gpu_groups: tuple[str, ...]) -> bool:
        """Allocate whole devices, or the shared ones of some groups; return whether they were available."""
        if gpu_groups:
            begun = set(gpu_groups) - self._shared
            self._shared |= begun
            self._left -= len(begun)
        else:
            self._left -= n_whole
        return self._left >= 0 or not (n_whole or gpu_groups)
