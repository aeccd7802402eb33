"""Devices of resource slices, their classes, and claims for them.

Source: pkg/scheduler/cache/cluster_info/cluster_info.go (populateDRAGPUs), pkg/common/resources/dra.go,
api/resource_info/dra_resource_utils.go; Kubernetes' resource.k8s.io/v1, and the older shapes of v1beta1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from apportion_api.kubernetes.names import EXTENDED_RESOURCE_CLAIM_ANNOTATION
from apportion_runtime.core.pod_constraints import NodeTerm
from apportion_runtime.core.snapshot import Allocation, Claim, Device, DeviceClass, DeviceKey, DeviceRequest
from apportion_runtime.snapshots.faults import IGNORED_VALUE, UNKNOWN_SELECTOR, Fault
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.kubernetes.selectors import UnknownSelector, fulfilling, quantity, version
from apportion_runtime.snapshots.kubernetes.terms import node_terms

_MOST = 2**63 - 1
_ALL, _EXACT = "All", "ExactCount"


class _DeviceFacts(NamedTuple):
    """A device, and the values that selectors can access."""

    device: Device
    scope: Mapping[str, Any]


def dra_gpus(slices: Sequence[Object]) -> dict[str, int]:
    """Return the number of GPU devices that the slices of each node list."""
    counts: dict[str, int] = {}
    for made in slices:
        node = made.spec.get("nodeName")
        if node and not made.spec.get("allNodes") and "gpu" in (made.spec.get("driver") or "").lower():
            counts[node] = counts.get(node, 0) + len(made.spec.get("devices") or ())
    return {node: count for node, count in counts.items() if count}


class Devices:
    """The devices of a cluster and their classes."""

    def __init__(self, slices: Sequence[Object], classes: Sequence[Object], faults: list[Fault]) -> None:
        self._faults = faults
        self._known = [known for made in _newest(slices) for known in _of_slice(made, faults)]
        self.classes = tuple(DeviceClass(c.name, c.spec.get("extendedResourceName") or "") for c in classes)
        members = {c.name: self._fulfilling(c, ("spec",), c.spec.get("selectors")) for c in classes}
        self.devices = tuple(
            replace(known.device, classes=frozenset(name for name, keys in members.items() if known.device.key in keys))
            for known in self._known
        )

    def selected(
        self, of: Object, path: tuple[str | int, ...], selectors: Sequence[Mapping[str, Any]] | None
    ) -> frozenset[DeviceKey] | None:
        """Return the devices that match the selectors of a claim; None without selectors."""
        return self._fulfilling(of, path, selectors) if selectors else None

    def _fulfilling(
        self, of: Object, path: tuple[str | int, ...], selectors: Sequence[Mapping[str, Any]] | None
    ) -> frozenset[DeviceKey]:
        left = self._known
        for number, each in enumerate(selectors or ()):
            expression = (each.get("cel") or {}).get("expression") or ""
            try:
                fulfilled = fulfilling(expression, [known.scope for known in left])
                left = [known for known, is_fulfilled in zip(left, fulfilled, strict=True) if is_fulfilled]
            except UnknownSelector:
                message = f"the selector `{_short(expression)}` is not supported; no device matches it"
                hint = "use the subset of CEL listed in docs/snapshot.md"
                place = of.place.at(*path, "selectors", number)
                self._faults.append(Fault(UNKNOWN_SELECTOR, of.address, message, hint, place))
                left = []
        return frozenset(known.device.key for known in left)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"


def _newest(slices: Sequence[Object]) -> list[Object]:
    """Return the slices of each pool's newest generation."""
    latest: dict[tuple[str, str], int] = {}
    for made in slices:
        latest[_pool(made)] = max(latest.get(_pool(made), 0), _generation(made))
    return [made for made in slices if _generation(made) == latest[_pool(made)]]


def _pool(made: Object) -> tuple[str, str]:
    return made.spec.get("driver") or "", (made.spec.get("pool") or {}).get("name") or ""


def _generation(made: Object) -> int:
    return int((made.spec.get("pool") or {}).get("generation") or 0)


def _of_slice(made: Object, faults: list[Fault]) -> Iterable[_DeviceFacts]:
    driver, pool = _pool(made)
    spec = made.spec
    for number, written in enumerate(spec.get("devices") or ()):
        # The first beta has the fields of a device one level deeper.
        fields = written.get("basic") or written
        where = written if spec.get("perDeviceNodeSelection") else spec
        attributes, capacity = _attributes(fields.get("attributes") or {}), fields.get("capacity") or {}
        try:
            scope = {
                "driver": driver,
                "allowMultipleAllocations": bool(fields.get("allowMultipleAllocations")),
                "attributes": _by_domain(attributes, driver),
                "capacity": _by_domain({name: _amount(amount) for name, amount in capacity.items()}, driver),
            }
        except ValueError as wrong:
            message = f"device `{written.get('name')}`: {wrong}; the device is ignored"
            hint = "export the ResourceSlice as published by its driver"
            faults.append(Fault(IGNORED_VALUE, made.address, message, hint, made.place.at("spec", "devices", number)))
            continue
        terms = node_terms(where.get("nodeSelector"))
        device = Device(
            driver=driver,
            pool=pool,
            name=written.get("name") or "",
            classes=frozenset(),
            node=where.get("nodeName") or None,
            nodes=terms,
            all_nodes=bool(where.get("allNodes")),
            attributes={_qualified(name, driver): _written(value) for name, value in attributes.items()},
        )
        yield _DeviceFacts(device, scope)


def _attributes(written: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in written.items():
        for kind in ("string", "int", "bool"):
            if value.get(kind) is not None:
                made[name] = value[kind]
        if value.get("version") is not None:
            made[name] = version(value["version"])
    return made


def _written(value: object) -> object:
    """Return an attribute as it is compared between devices: versions as text."""
    if isinstance(value, str | int | bool):
        return value
    return repr(value)


def _amount(written: object) -> Any:
    value = written.get("value") if isinstance(written, Mapping) else written
    if not isinstance(value, str | int | float):
        raise ValueError("a capacity has no value")
    return quantity(value)


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _by_domain(values: Mapping[str, Any], driver: str) -> Mapping[str, Mapping[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        domain, _, short = _qualified(name, driver).partition("/")
        made.setdefault(domain, {})[short] = value
    return made


class Claims:
    """The resource claims of a cluster, and which pod each belongs to."""

    def __init__(self, claims: Sequence[Object], devices: Devices, engine: Engine) -> None:
        self._objects = {(claim.namespace, claim.name): claim for claim in claims}
        self._made = {key: _claim(claim, devices, engine) for key, claim in self._objects.items()}
        self._of_pod: dict[str, dict[tuple[str, str], Object]] = {}
        for key, claim in self._objects.items():
            owner = next(
                (o.get("uid") for o in claim.metadata.get("ownerReferences") or () if o.get("kind") == "Pod"), None
            )
            if owner is None:
                reserved = claim.status.get("reservedFor") or ()
                owner = next((user.get("uid") for user in reserved if user.get("resource") == "pods"), None)
            if owner:
                self._of_pod.setdefault(owner, {})[key] = claim

    def all(self) -> tuple[Claim, ...]:
        """Return the current claims."""
        return tuple(self._made.values())

    def gpus_of(self, uid: str, namespace: str, named: Iterable[str]) -> int:
        """Return the number of GPUs requested by a pod's claims: those it owns, has reserved or names itself."""
        mine = dict(self._of_pod.get(uid, {}))
        for name in named:
            claim = self._objects.get((namespace, name))
            if claim is not None:
                mine[namespace, name] = claim
        by_class: dict[str, int] = {}
        for claim in mine.values():
            if claim.annotations.get(EXTENDED_RESOURCE_CLAIM_ANNOTATION) == "true":
                continue
            count, of_class = _gpus(claim)
            if count and of_class:
                by_class[of_class] = min(by_class.get(of_class, 0) + count, _MOST)
        return min(sum(by_class.values()), _MOST)

    def assume(self, namespace: str, name: str, allocation: Allocation | None, uid: str) -> None:
        """Apply a pending bind: the devices of a claim that has none yet."""
        made = self._made.get((namespace, name))
        if made is None or made.allocation is not None:
            return
        users = made.reserved_for if uid in made.reserved_for else (*made.reserved_for, uid)
        self._made[namespace, name] = replace(made, allocation=allocation, reserved_for=users)


def allocation(written: Mapping[str, Any] | None) -> Allocation | None:
    """Return the devices allocated to a claim."""
    if written is None:
        return None
    results = (written.get("devices") or {}).get("results") or ()
    keys = tuple((r.get("driver") or "", r.get("pool") or "", r.get("device") or "") for r in results)
    terms: tuple[NodeTerm, ...] | None = node_terms(written.get("nodeSelector"))
    return Allocation(keys, terms)


def _exact(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the exact part of a request; None for one with alternatives."""
    if request.get("exactly") is not None:
        exactly: Mapping[str, Any] = request["exactly"]
        return exactly
    return request if request.get("deviceClassName") else None


def _requests(claim: Object) -> Sequence[Mapping[str, Any]]:
    requests: Sequence[Mapping[str, Any]] = (claim.spec.get("devices") or {}).get("requests") or ()
    return requests


def _gpus(claim: Object) -> tuple[int, str]:
    count, of_class = 0, ""
    for request in _requests(claim):
        exactly = _exact(request)
        name = (exactly or {}).get("deviceClassName") or ""
        if exactly is None or "gpu" not in name.lower():
            continue
        of_class = of_class or name
        mode = exactly.get("allocationMode") or _EXACT
        if mode == _EXACT:
            count = min(count + max(exactly.get("count") or 1, 1), _MOST)
        elif mode == _ALL:
            count = min(count + 1, _MOST)
    return count, of_class


def _claim(claim: Object, devices: Devices, engine: Engine) -> Claim:
    constraints = (claim.spec.get("devices") or {}).get("constraints") or ()
    return Claim(
        namespace=claim.namespace,
        name=claim.name,
        requests=tuple(_request(claim, number, r, devices) for number, r in enumerate(_requests(claim))),
        queue=claim.labels.get(engine.queue_key, ""),
        allocation=allocation(claim.status.get("allocation")),
        reserved_for=tuple(user.get("uid") or "" for user in claim.status.get("reservedFor") or ()),
        match_attributes=tuple(
            (tuple(c.get("requests") or ()), c["matchAttribute"]) for c in constraints if c.get("matchAttribute")
        ),
    )


def _request(claim: Object, number: int, request: Mapping[str, Any], devices: Devices) -> DeviceRequest:
    exactly = _exact(request)
    name = request.get("name") or ""
    if exactly is None:
        return DeviceRequest(name, "", exactly=False)
    path = ("spec", "devices", "requests", number, *(("exactly",) if exactly is not request else ()))
    return DeviceRequest(
        name=name,
        device_class=exactly.get("deviceClassName") or "",
        count=exactly.get("count") or 1,
        all_devices=exactly.get("allocationMode") == _ALL,
        exactly=not exactly.get("adminAccess"),
        selected=devices.selected(claim, path, exactly.get("selectors")),
    )
