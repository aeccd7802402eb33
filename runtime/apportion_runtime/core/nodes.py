"""The nodes of a session as arrays: idle, releasing and used resources, and the pods on each node.

Nodes are in order of name, which is how the engine breaks ties. A node records what it charged for each pod, so that
removing the pod releases the same amounts, regardless of its status at that time.

Source: pkg/scheduler/api/node_info/node_info.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from apportion_runtime.core.node_entry import AcceptedRequest, Entry
from apportion_runtime.core.resources import GPU, GpuRequest, Quantities, ResourceIndex, Vector, is_mig
from apportion_runtime.core.shared_gpus import Row, SharedGpus, SharedSummary, device_memory, memory_fraction
from apportion_runtime.core.snapshot import DeviceKey, Node
from apportion_runtime.core.status import ACTIVE_USED_STATUSES, ALLOCATED, PIPELINED, RELEASING
from apportion_runtime.core.task import BY_MEMORY, FRACTION, MIG, REGULAR, Task

N = TypeVar("N", bound=np.generic)
Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]


class NodeTable:
    """All nodes. Rows of the arrays are nodes by name, columns resources."""

    def __init__(self, nodes: Sequence[Node], index: ResourceIndex) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.name)
        self.names = [node.name for node in self.nodes]
        self.index = {name: i for i, name in enumerate(self.names)}
        self.resources = index
        self.allocatable: Matrix = np.array([index.vector(node.allocatable) for node in self.nodes]).reshape(
            len(self.nodes), len(index)
        )
        for i, node in enumerate(self.nodes):
            self.allocatable[i, GPU] += node.dra_gpus
        self.idle = self.allocatable.copy()
        # Without the pods.
        self.released: Matrix = np.array([index.vector(node.releasing) for node in self.nodes]).reshape(self.idle.shape)
        self.releasing = self.released.copy()
        self.used = np.zeros_like(self.idle)
        self.tracked = self.allocatable > 0
        self.gpu_memory = np.array([device_memory(node.gpu_memory) for node in self.nodes], dtype=np.int64)
        self.knows_memory = np.array(
            [node.gpu_memory is not None and node.gpu_memory_synced for node in self.nodes], dtype=bool
        )
        self.n_gpus = np.array(
            [
                node.n_gpus if node.n_gpus is not None else int(self.allocatable[i, GPU])
                for i, node in enumerate(self.nodes)
            ],
            dtype=np.int64,
        )
        self.has_dra = np.array([node.dra_gpus > 0 for node in self.nodes], dtype=bool)
        self.mig = np.array([self._is_mig(i) for i in range(len(self.nodes))], dtype=bool)
        self.strategy = [node.mig_strategy if self.mig[i] else "none" for i, node in enumerate(self.nodes)]
        self.cpu_only = ~self.mig & (self.allocatable[:, GPU] <= 0) & ~self.has_dra
        self.ready = np.array([node.ready and not node.unschedulable for node in self.nodes], dtype=bool)
        self.shared: dict[int, SharedGpus] = {}
        self.entries: list[dict[str, Entry]] = [{} for _ in self.nodes]
        self.legacy_mig: set[int] = set()
        # Accepted requests by shape of the pod and device memory of the node.
        self._accepted: dict[tuple[int, int], AcceptedRequest] = {}
        self.device_uses: dict[int, Counter[DeviceKey]] = {}
        self.all: Indices = np.arange(len(self.nodes))
        # Whether all amounts are whole numbers, whose sums do not depend on the order.
        self.is_whole = not (self.allocatable % 1).any()
        # Every row that changed, in order: caches derived from the rows remember how far they have read.
        self.changed: list[int] = []
        # Nodes whose pods and shared devices are charged as by `refill`, or that differ from it in whole devices only.
        self.settled: set[int] = set()
        # Nodes whose pods were last replaced by `refill` as whole requests and fractions of devices.
        self.plainly_filled: set[int] = set()
        # Since the last refill of a node: the pods placed there, and whether anything else was done on it.
        self.placed: dict[int, list[str]] = {}
        self.disturbed: set[int] = set()
        self._shared_summary = SharedSummary(len(self.nodes))
        self._shared_at = 0

    def most_free(self) -> Matrix:
        """Return the largest amounts of each node that can be idle or being released, without any pod."""
        most: Matrix = self.allocatable + self.released.clip(min=0)
        return most

    def _is_mig(self, i: int) -> bool:
        enabled = self.nodes[i].mig_enabled
        if enabled is not None:
            return enabled
        return any(is_mig(name) and self.allocatable[i, r] > 0 for r, name in enumerate(self.resources.names))

    def __len__(self) -> int:
        return len(self.nodes)

    def rows(self, of: npt.NDArray[N], nodes: Indices) -> npt.NDArray[N]:
        """Return an array's rows for some nodes; for all nodes the array itself, which must not be changed."""
        return of if nodes is self.all else of[nodes]

    def shared_on(self, i: int) -> SharedGpus:
        """Return the shared devices of a node."""
        found = self.shared.get(i)
        if found is None:
            found = self.shared[i] = SharedGpus(int(self.gpu_memory[i]), int(self.n_gpus[i]))
        return found

    def forget_changes(self) -> None:
        """Clear the list of changes; caches derived from it must be rebuilt."""
        self._read_shared()
        self.changed.clear()
        self._shared_at = 0

    def has_shared_room(self, gpu: GpuRequest, nodes: Indices) -> Mask:
        """Return on which of some nodes a shared device has room for one fraction of a request."""
        room = self.rows(self._read_shared().room, nodes)
        if gpu.memory > 0:
            return np.asarray(room >= gpu.memory)
        return np.asarray(room >= (gpu.portion * self.rows(self.gpu_memory, nodes)).astype(np.int64))

    def shares_room(self, gpu: GpuRequest, i: int) -> bool:
        """Return whether a shared device of a node has room for one fraction of a request."""
        shared = self.shared.get(i)
        return shared is not None and shared.room >= self.memory_of(gpu, i)

    def _read_shared(self) -> SharedSummary:
        """Update and return the summary of shared devices."""
        n = len(self.changed)
        for i in set(self.changed[self._shared_at : n]):
            self._shared_summary.put(i, self.shared.get(i))
        self._shared_at = n
        return self._shared_summary

    def row(self, i: int) -> Row:
        """Return the amounts of a node."""
        return Row(self.idle[i], self.releasing[i], self.used[i])

    def memory_of(self, gpu: GpuRequest, i: int) -> int:
        """Return the MiB that a request uses on each of its devices; fractions are truncated to whole MiB."""
        return gpu.memory if gpu.memory > 0 else int(gpu.portion * float(self.gpu_memory[i]))

    def portion_of(self, gpu: GpuRequest, i: int) -> float:
        """Return the fraction of a device that a request uses on a node."""
        return memory_fraction(gpu.memory, int(self.gpu_memory[i])) if gpu.memory > 0 else gpu.portion

    def add(self, task: Task, i: int, *, elsewhere: bool = False) -> None:
        """Charge a pod to a node.

        Args:
            task: The pod; its accepted request is updated.
            i: The node.
            elsewhere: The pod moves to another device of the same node; its former devices stay charged.
        """
        if task.status & ACTIVE_USED_STATUSES:
            self.accept(task, i)
        entries = self.entries[i]
        if task.received_fraction and elsewhere:
            entries.pop(task.uid, None)
        elif task.uid in entries:
            raise ValueError(f"{task.uid} is already on {self.names[i]}")
        charged = task.accepted * self.tracked[i]
        shares = task.received_fraction
        if shares:
            charged[GPU] = 0.0
        memory = self.memory_of(task.gpu, i) if shares else 0
        devices = task.gpu_devices if task.claims and task.accepted[GPU] > 0 and not shares else ()
        entry = Entry(
            task.status, charged, task.gpu_groups if shares else (), memory, shares, task.numa, devices, task.accepted
        )
        entries[task.uid] = entry
        if devices:
            charged = self._without_shared(i, charged, devices, by=1)
        if task.pod.legacy_mig:
            self.legacy_mig.add(i)
        self.book(i, entry.status, charged)
        if shares:
            self.settled.discard(i)
            shared = self.shared_on(i)
            for group in entry.groups:
                shared.add(group, memory, entry.status, self.row(i))
        self.changed.append(i)
        if elsewhere or entry.status != ALLOCATED:
            self.disturbed.add(i)
        else:
            self.note_placed(task, i)

    def note_placed(self, task: Task, i: int) -> None:
        """Record that a pod was allocated on a node on which it was not."""
        placed = self.placed.get(i)
        if placed is None:
            self.placed[i] = [task.uid]
        else:
            placed.append(task.uid)

    def add_all(self, tasks: Sequence[Task]) -> None:
        """Charge pods to their nodes, in order."""
        special = {task.node for task in tasks if task.kind != REGULAR or task.claims or task.pod.legacy_mig}
        plain: list[Task] = []
        for task in tasks:
            if not self.is_whole or task.node in special:
                self.add(task, task.node)
            else:
                plain.append(task)
        if not plain:
            return
        rows = np.array([task.node for task in plain])
        statuses = np.array([task.status for task in plain])
        charged = np.array([task.accepted for task in plain]) * self.tracked[rows]
        waits, leaves = statuses == PIPELINED, statuses == RELEASING
        np.add.at(self.used, rows, charged)
        np.add.at(self.releasing, rows[leaves], charged[leaves])
        np.subtract.at(self.releasing, rows[waits], charged[waits])
        np.subtract.at(self.idle, rows[~waits], charged[~waits])
        for task, amounts in zip(plain, charged, strict=True):
            entries = self.entries[task.node]
            if task.uid in entries:
                raise ValueError(f"{task.uid} is already on {self.names[task.node]}")
            entries[task.uid] = Entry(task.status, amounts, (), 0, shares=False, numa=task.numa, accepted=task.accepted)
        self.changed += rows.tolist()

    def remove(self, task: Task, i: int) -> None:
        """Release a pod's charge from a node. Raises `KeyError` if the pod is not on it."""
        entry = self.entries[i].pop(task.uid)
        charged = entry.charged
        if entry.devices:
            charged = self._without_shared(i, charged, entry.devices, by=-1)
        self.book(i, entry.status, -charged)
        if entry.shares:
            self.settled.discard(i)
            shared = self.shared_on(i)
            for group in entry.groups:
                shared.remove(group, entry.memory, entry.status, self.row(i))
        self.changed.append(i)
        self.disturbed.add(i)

    def _without_shared(self, i: int, charged: Vector, devices: tuple[DeviceKey, ...], *, by: int) -> Vector:
        """Return the charge of a pod whose devices are also held by other pods of the node: each counts once.

        Source: pkg/scheduler/api/node_info/dra_shared_device_info.go.
        """
        uses = self.device_uses.setdefault(i, Counter())
        shared = 0
        for key in devices:
            others = uses[key] if by > 0 else uses[key] - 1
            shared += others > 0
            uses[key] = max(uses[key] + by, 0)
        made = charged.copy()
        made[GPU] = max(made[GPU] - shared, 0.0)
        return made

    def book(self, i: int, status: int, charged: Vector) -> None:
        """Add a charge to a node's amounts."""
        self.used[i] += charged
        if status == RELEASING:
            self.releasing[i] += charged
            self.idle[i] -= charged
        elif status == PIPELINED:
            self.releasing[i] -= charged
        else:
            self.idle[i] -= charged

    def update(self, task: Task, i: int) -> None:
        """Charge a pod again, with its current status."""
        if self.is_whole and task.kind == REGULAR and not task.claims and self._change_status_in_place(task, i):
            return
        self.remove(task, i)
        self.add(task, i)

    def _change_status_in_place(self, task: Task, i: int) -> bool:
        """Apply a change between running and releasing in place; return whether this is sufficient.

        The pod holds the same resources, and whole numbers cancel out exactly: only the releasing amounts change.
        """
        entries = self.entries[i]
        entry = entries[task.uid]
        if (
            PIPELINED in (entry.status, task.status)
            or entry.shares
            or entry.devices
            or not task.status & ACTIVE_USED_STATUSES
        ):
            return False
        # Reinserted, so that it becomes the node's last pod.
        del entries[task.uid]
        entries[task.uid] = entry.in_state(task)
        if entry.status == RELEASING:
            self.releasing[i] -= entry.charged
        if task.status == RELEASING:
            self.releasing[i] += entry.charged
        self.changed.append(i)
        self.disturbed.add(i)
        return True

    def accept(self, task: Task, i: int) -> None:
        """Set what a node accepts and charges for a pod, which may depend on the memory of its devices."""
        if task.kind == REGULAR:
            task.received_fraction = False
            return
        task.received_fraction = task.kind in (FRACTION, BY_MEMORY)
        key = (task.shape, int(self.gpu_memory[i]))
        known = self._accepted.get(key)
        if known is None:
            if task.kind == MIG:
                accepted_gpu, accepted_gpus = GpuRequest(mig=task.gpu.mig), 0.0
            else:
                accepted_gpu = GpuRequest(task.gpu.count, self.portion_of(task.gpu, i), self.memory_of(task.gpu, i))
                accepted_gpus = accepted_gpu.gpus
            accepted = task.request.copy()
            accepted[GPU] = accepted_gpus
            known = self._accepted[key] = AcceptedRequest(accepted_gpu, accepted, self.resources.quantities(accepted))
        task.accepted_gpu, task.accepted, task.accepted_quantities = known

    def quota_on(self, task: Task, i: int) -> Quantities:
        """Return the charge to queues for a pod on a node."""
        cpu, memory, _ = task.quantities
        if task.gpu.mig:
            return cpu, memory, task.gpu.quota
        each = memory_fraction(self.memory_of(task.gpu, i), int(self.gpu_memory[i]))
        return cpu, memory, task.gpu.count * each

    def idle_gpus(self) -> Vector:
        """Return the devices that are idle on each node, including fractions of shared ones."""
        return self.resources.gpus_of_rows(self.idle) + self._read_shared().free

    def releasing_gpus(self) -> Vector:
        """Return the devices that are being released on each node."""
        return self.resources.gpus_of_rows(self.releasing) + self._read_shared().leaving

    def free_gpus(self) -> Vector:
        """Return the devices that are idle or being released on each node."""
        return self.idle_gpus() + self.releasing_gpus()

    def free_gpu_memory(self) -> npt.NDArray[np.int64]:
        """Return the MiB of the devices that are idle or being released on each node."""
        shared = self._read_shared()
        whole = [self.resources.gpus_of_rows(amounts).astype(np.int64) for amounts in (self.idle, self.releasing)]
        return np.asarray((whole[0] + whole[1]) * self.gpu_memory + shared.free_memory + shared.leaving_memory)
