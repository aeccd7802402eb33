"""The GPUs of a node as its kubelet counts them: each is held by one pod, or shared by some, and there are no more."""

from __future__ import annotations

from apportion_runtime.sim.api.cluster_state import World


class Devices:
    """What is left on a node.

    Args:
        world: What is simulated.
        node: The node.
    """

    def __init__(self, world: World, node: str) -> None:
        record = world.records.nodes.get(node)
        self._left = 0 if record is None else int(record.allocatable.get("gpu", 0))
        self._shared: set[str] = set()
        for uid in world.pods_on.get(node, ()):
            pod = world.pods[uid].record
            self.take(pod.gpu.count, pod.gpu_groups)

    def take(self, n_whole: int, gpu_groups: tuple[str, ...]) -> bool:
        """Hold whole devices, or the shared ones that groups name; tell whether they were there."""
        if gpu_groups:
            begun = set(gpu_groups) - self._shared
            self._shared |= begun
            self._left -= len(begun)
        else:
            self._left -= n_whole
        return self._left >= 0 or not (n_whole or gpu_groups)
