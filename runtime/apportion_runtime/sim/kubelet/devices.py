"""The GPUs of a node as its kubelet counts them: each is allocated to one pod or shared by several."""

from __future__ import annotations

from apportion_runtime.sim.api.cluster_state import ClusterState


class Devices:
    """The free devices of a node.

    Args:
        cluster_state: The simulated cluster.
        node: The node.
    """

    def __init__(self, cluster_state: ClusterState, node: str) -> None:
        record = cluster_state.records.nodes.get(node)
        self._left = 0 if record is None else int(record.allocatable.get("gpu", 0))
        self._shared: set[str] = set()
        pods = cluster_state.pods
        for uid in cluster_state.pods_on.get(node, ()):
            pod = pods[uid].record
            if pod.gpu_groups:
                self.take(pod.gpu.count, pod.gpu_groups)
            else:
                self._left -= pod.gpu.count

    def take(self, n_whole: int, gpu_groups: tuple[str, ...]) -> bool:
        """Allocate whole devices, or the shared ones of some groups; return whether they were available."""
        if gpu_groups:
            begun = set(gpu_groups) - self._shared
            self._shared |= begun
            self._left -= len(begun)
        else:
            self._left -= n_whole
        return self._left >= 0 or not (n_whole or gpu_groups)
