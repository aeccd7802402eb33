"""Devices of resource claims: those that a node could provide, and the claims and pods that hold them.

Source: pkg/scheduler/plugins/dynamicresources (dynamicresources.go, extended_resources*.go); Kubernetes' own stable
allocator, k8s.io/dynamic-resource-allocation/structured/internal/stable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from apportion_runtime.core.plugins.predicates import matches_terms
from apportion_runtime.core.pod_constraints import Expression, NodeTerm
from apportion_runtime.core.snapshot import Allocation, Claim, Device, DeviceKey, DeviceRequest, Pod
from apportion_runtime.core.task import Task

if TYPE_CHECKING:
    from apportion_runtime.core.job import Job
    from apportion_runtime.core.session import Session

_MOST_CONSUMERS = 256
_MOST_DEVICES = 32


class Claims:
    """The current state of a session's resource claims."""

    def __init__(self, session: Session) -> None:
        self._session = session
        snapshot = session.snapshot
        self.is_on = "dynamicresources" in session.plugins
        self._claims = {(claim.namespace, claim.name): claim for claim in snapshot.claims}
        self._allocated = {key: claim.allocation for key, claim in self._claims.items()}
        # Devices in use, without counts: if two claims hold a device, the first to release it frees it.
        self._in_use = {key for held in self._allocated.values() if held is not None for key in held.devices}
        self._users = {key: list(claim.reserved_for) for key, claim in self._claims.items()}
        self._extended: dict[str, Allocation] = {}
        self._classes = {made.name for made in snapshot.device_classes}
        self._class_of = {made.extended_resource: made.name for made in snapshot.device_classes}
        self._class_of.pop("", None)
        self._devices_by_node: dict[int, list[Device]] = {}

    def allocation(self, namespace: str, name: str) -> Allocation | None:
        """Return the current allocation of a claim."""
        return self._allocated.get((namespace, name))

    def users(self, namespace: str, name: str) -> tuple[str, ...]:
        """Return the ids of the pods for which a claim is reserved now."""
        return tuple(self._users[namespace, name])

    def counted(self, pod: Pod) -> int | None:
        """Return the GPUs of a pod's claims that count against the largest node: of claims with one id, the last.

        None if all ids differ.
        """
        named = [self._claims.get((pod.namespace, ref.claim or "")) for ref in pod.claims]
        claims = [claim for claim in named if claim is not None and claim.uid is not None and claim.asks_gpus]
        last = {claim.uid: claim for claim in claims}
        if len(last) == len(claims):
            return None
        return sum(request.count for claim in last.values() for request in claim.requests)

    def open_task(self, task: Task) -> None:
        """Record the devices that the claims of a pod hold when the session opens."""
        for ref in task.pod.claims:
            key = (task.pod.namespace, ref.claim or "")
            if key in self._claims:
                task.claims = {**task.claims, ref.name: self._allocated[key]}

    def blocked(self, task: Task, job: Job) -> str | None:
        """Return why no node can meet a pod's claims, or None; marks pods whose extended resources are devices."""
        pod = task.pod
        if not self.is_on or (not pod.claims and not self._class_of):
            return None
        for ref in pod.claims:
            claim = self._claims.get((pod.namespace, ref.claim or ""))
            if claim is None:
                return f"failed to get resource claim {pod.namespace}/{ref.claim or ref.name}"
            why = self._unusable(claim, pod, job.queue, of_template=ref.of_template)
            if why is not None:
                return why
        task.wants_devices = any(True for _ in self._extended_requests(pod))
        return None

    def _unusable(self, claim: Claim, pod: Pod, queue: str, *, of_template: bool) -> str | None:
        key = (claim.namespace, claim.name)
        if len(self._users[key]) >= _MOST_CONSUMERS:
            return (
                f"resource claim {claim.namespace}/{claim.name} has reached its maximum number of consumers "
                f"({_MOST_CONSUMERS})"
            )
        if not of_template and claim.asks_gpus and claim.queue != queue:
            message = (
                f"with wrong queue label (expected queue: {queue}, claim queue label: {claim.queue})"
                if claim.queue
                else "but does not have a queue label (kai.scheduler/queue)"
            )
            return (
                f"pod {pod.namespace}/{pod.name} cannot be scheduled: "
                f"DRA claim {claim.name} is a shared GPU claim {message}"
            )
        if self._allocated[key] is None:
            for request in claim.requests:
                if request.exactly and request.device_class not in self._classes:
                    return (
                        f"device class {request.device_class} does not exist for claim {claim.namespace}/{claim.name} "
                        f"request {request.name}"
                    )
        return None

    def allows(self, task: Task, i: int) -> bool:
        """Return whether a node can provide the devices that the claims of a pod still lack."""
        if not self.is_on or (not task.pod.claims and not task.wants_devices):
            return True
        node = self._session.nodes.nodes[i]
        lacking: list[Claim] = []
        for ref in task.pod.claims:
            key = (task.pod.namespace, ref.claim or "")
            held = self._allocated.get(key)
            if held is None:
                lacking.append(self._claims[key])
            elif held.nodes is not None and not matches_terms(held.nodes, node):
                return False
        if task.wants_devices:
            special = self._special(task.pod, i)
            if special.requests:
                lacking.append(special)
        return not lacking or self._allocate(i, lacking) is not None

    def allocate(self, task: Task) -> None:
        """Allocate the devices of a pod's claims on its node."""
        if not self.is_on:
            return
        for ref in task.pod.claims:
            key = (task.pod.namespace, ref.claim or "")
            if key not in self._claims:
                continue
            held = task.claims.get(ref.name) or self._allocated[key]
            if held is None:
                found = self._allocate(task.node, [self._claims[key]])
                if found is None:
                    continue
                held = found[0]
            if task.uid not in self._users[key]:
                self._users[key].append(task.uid)
            self._set(key, held)
            task.claims = {**task.claims, ref.name: held}
        if task.wants_devices:
            special = self._special(task.pod, task.node)
            found = self._allocate(task.node, [special]) if special.requests else None
            if not special.requests:
                task.wants_devices = False
            elif found is not None:
                self._extended[task.uid] = found[0]

    def deallocate(self, task: Task) -> None:
        """Deallocate the devices of a pod's claims; a claim that others use keeps them."""
        if not self.is_on:
            return
        for ref in task.pod.claims:
            key = (task.pod.namespace, ref.claim or "")
            if key not in self._claims:
                continue
            users = self._users[key]
            if task.uid in users:
                users.remove(task.uid)
            if not users:
                self._set(key, None)
            if ref.name in task.claims:
                task.claims = {**task.claims, ref.name: self._allocated[key]}
        # With the devices, the engine also forgets that the claim had any: a pod whose placement is restored has none.
        task.wants_devices = False
        self._extended.pop(task.uid, None)

    def _set(self, key: tuple[str, str], held: Allocation | None) -> None:
        before = self._allocated[key]
        if before is None and held is not None:
            self._in_use.update(held.devices)
        elif before is not None and held is None:
            self._in_use.difference_update(before.devices)
        self._allocated[key] = held

    def _extended_requests(self, pod: Pod) -> Iterator[tuple[str, int]]:
        for name in self._class_of:
            amount = float(pod.gpu.count) if name.endswith("gpu") and pod.gpu.portion == 1 else pod.request.get(name, 0)
            if amount > 0:
                yield name, int(amount)

    def _special(self, pod: Pod, i: int) -> Claim:
        """Return the claim of the extended resources that a node provides only as devices."""
        allocatable = self._session.nodes.nodes[i].allocatable
        requests = tuple(
            DeviceRequest(name, self._class_of[name], amount)
            for name, amount in self._extended_requests(pod)
            if not allocatable.get("gpu" if name.endswith("gpu") else name)
        )
        return Claim("", "<extended-resources>", requests)

    def _allocate(self, i: int, claims: Sequence[Claim]) -> list[Allocation] | None:
        """Return devices of a node for each of some claims, or None if they cannot all be allocated."""
        here = self._reachable(i)
        taken = self._in_use.union(*(allocation.devices for allocation in self._extended.values()))
        if len({device.key for device in here}) < len(here):
            # A pool that lists a device twice is invalid, and none of its devices is allocated.
            return None
        wanted: list[_DeviceCandidates] = []
        for number, claim in enumerate(claims):
            n = 0
            for request in claim.requests:
                if not request.exactly or request.device_class not in self._classes:
                    return None
                matching = [device for device in here if _matches(device, request)]
                if request.all_devices and (not matching or any(device.key in taken for device in matching)):
                    return None
                n += len(matching) if request.all_devices else request.count
                if n > _MOST_DEVICES:
                    return None
                wanted += [_DeviceCandidates(number, request, matching)] * (n - sum(w.claim == number for w in wanted))
        chosen: list[Device] = []
        if not _search(wanted, claims, taken, chosen):
            return None
        return [
            _allocation([device for device, want in zip(chosen, wanted, strict=True) if want.claim == number])
            for number in range(len(claims))
        ]

    def _reachable(self, i: int) -> list[Device]:
        known = self._devices_by_node.get(i)
        if known is None:
            node = self._session.nodes.nodes[i]
            known = self._devices_by_node[i] = [
                device
                for device in self._session.snapshot.devices
                if device.all_nodes
                or device.node == node.name
                or (device.nodes is not None and matches_terms(device.nodes, node))
            ]
        return known


class _DeviceCandidates(NamedTuple):
    """A request for one device, and the devices that match it."""

    claim: int
    request: DeviceRequest
    matching: list[Device]


def _matches(device: Device, request: DeviceRequest) -> bool:
    if request.device_class not in device.classes:
        return False
    return request.selected is None or device.key in request.selected


def _search(
    wanted: Sequence[_DeviceCandidates], claims: Sequence[Claim], taken: set[DeviceKey], chosen: list[Device]
) -> bool:
    """Choose a device for each request in turn, with backtracking."""
    if len(chosen) == len(wanted):
        return True
    want = wanted[len(chosen)]
    for device in want.matching:
        if device.key in taken or not _alike(device, want, wanted, claims, chosen):
            continue
        taken.add(device.key)
        chosen.append(device)
        if _search(wanted, claims, taken, chosen):
            return True
        chosen.pop()
        taken.remove(device.key)
        if not claims[want.claim].match_attributes and _interchangeable(wanted):
            return False
    return False


def _interchangeable(wanted: Sequence[_DeviceCandidates]) -> bool:
    # If all requests choose among the same devices, another choice fails as well.
    first = {device.key for device in wanted[0].matching}
    return all({device.key for device in want.matching} == first for want in wanted[1:])


def _alike(
    device: Device,
    want: _DeviceCandidates,
    wanted: Sequence[_DeviceCandidates],
    claims: Sequence[Claim],
    chosen: Sequence[Device],
) -> bool:
    for requests, attribute in claims[want.claim].match_attributes:
        if requests and want.request.name not in requests:
            continue
        value = device.attributes.get(attribute)
        if value is None:
            return False
        for other, of in zip(chosen, wanted, strict=False):
            concerned = of.claim == want.claim and (not requests or of.request.name in requests)
            if concerned and other.attributes.get(attribute) != value:
                return False
    return True


def _allocation(devices: Sequence[Device]) -> Allocation:
    keys = tuple(device.key for device in devices)
    for device in devices:
        if device.node is not None:
            only = NodeTerm(fields=(Expression("metadata.name", "In", (device.node,)),))
            return Allocation(keys, (only,))
    terms = [term for device in devices for term in device.nodes or ()]
    joined = NodeTerm(
        tuple(dict.fromkeys(e for term in terms for e in term.expressions)),
        tuple(dict.fromkeys(e for term in terms for e in term.fields)),
    )
    return Allocation(keys, (joined,) if joined.expressions or joined.fields else None)
