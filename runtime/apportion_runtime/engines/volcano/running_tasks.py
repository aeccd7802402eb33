"""The pods on each node that preempt and reclaim may evict, kept until the pods of the node change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano.jobs import Status, Task


class RunningTasks:
    """The running preemptable pods of a scheduler.

    Args:
        tasks: All of its pods by uid.
    """

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._tasks = tasks
        self._known: dict[str, tuple[NodeState, int, Mapping[str, Sequence[Task]]]] = {}
        """By node, with the version of its pods."""
        self._kinds: dict[str, tuple[Mapping[str, Sequence[Task]], Mapping[str, Sequence[Task]]]] = {}
        """By node, with the pods that they are of."""

    def on(self, node: NodeState) -> Mapping[str, Sequence[Task]]:
        """Return the pods on a node by queue; upstream has them in any order, here in that of their ids."""
        known = self._known.get(node.name)
        if known is None or known[0] is not node or known[1] != node.version:
            found: dict[str, list[Task]] = {}
            for uid in sorted(node.pods):
                task = self._tasks.get(uid)
                if task is not None and task.preemptable and task.status is Status.RUNNING:
                    found.setdefault(task.queue, []).append(task)
            known = self._known[node.name] = node, node.version, found
        return known[2]

    def kinds(self, node: NodeState) -> Mapping[str, Sequence[Task]]:
        """Return one of the pods of each request on a node, by queue."""
        found = self.on(node)
        known = self._kinds.get(node.name)
        if known is None or known[0] is not found:
            kinds = {
                queue: [*{tuple(task.request.items()): task for task in tasks}.values()]
                for queue, tasks in found.items()
            }
            known = self._kinds[node.name] = found, kinds
        return known[1]

    def nodes_by_queue(self, nodes: Iterable[NodeState]) -> Mapping[str, Collection[str]]:
        """Return the names of the nodes with pods of each queue."""
        found: dict[str, set[str]] = {}
        for node in nodes:
            for queue in self.on(node):
                found.setdefault(queue, set()).add(node.name)
        return found

    def of_queues(self, node: NodeState, queues: Collection[str]) -> list[Task]:
        """Return the pods of some queues on a node, in the order of their ids."""
        found = [tasks for queue, tasks in self.on(node).items() if queue in queues]
        if len(found) == 1:
            return [*found[0]]
        return sorted((task for tasks in found for task in tasks), key=lambda task: task.uid)
