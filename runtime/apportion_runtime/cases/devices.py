"""The devices, device classes and resource claims of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apportion_api.kai.names import QUEUE_LABEL
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.core.pod_constraints import Expression, NodeTerm
from apportion_runtime.core.snapshot import Allocation, Claim, ClaimReference, Device, DeviceClass, DeviceRequest

Case = Mapping[str, Any]
_DRIVER = GPU_RESOURCE
_MOST = 2**63 - 1


def claims_of(case: Case) -> tuple[Claim, ...]:
    """Return the resource claims."""
    return tuple(_claim(made) for made in _dra(case, "resource_claims"))


def device_classes_of(case: Case) -> tuple[DeviceClass, ...]:
    """Return the device classes."""
    return tuple(DeviceClass(name) for name in _dra(case, "device_classes"))


def n_devices_on(node: str, case: Case) -> int:
    """Return the number of devices of a node in resource slices."""
    return sum(_count(made) for made in _dra(case, "resource_slices") if _of_node(made) == node)


def devices_of(case: Case) -> Iterator[Device]:
    """Yield the devices of the resource slices."""
    classes = frozenset(_dra(case, "device_classes"))
    for made in _dra(case, "resource_slices"):
        node = _of_node(made)
        for number in range(_count(made)):
            yield Device(_DRIVER, node, str(number), classes, node, None, bool(made.get("allNodes")))


def references_of(task: Case) -> Iterator[ClaimReference]:
    """Yield the resource claims that a pod refers to."""
    for name in task.get("resource_claim_names") or ():
        yield ClaimReference(name, name)
    for template, name in (task.get("resource_claim_templates") or {}).items():
        yield ClaimReference(template, name, of_template=True)


def claimed_gpus(task: Case, case: Case) -> int:
    """Return the GPUs that the claims of a pod request."""
    claims = {claim["name"]: claim for claim in _dra(case, "resource_claims")}
    asked: dict[str, int] = {}
    for reference in references_of(task):
        claim = claims.get(reference.claim or "")
        if claim is not None and "gpu" in claim["device_class_name"].lower():
            of_class = claim["device_class_name"]
            asked[of_class] = min(asked.get(of_class, 0) + _asked(claim), _MOST)
    return min(sum(asked.values()), _MOST)


def _dra(case: Case, key: str) -> Sequence[Any]:
    return (case.get("dra") or {}).get(key) or ()


def _count(resource_slice: Case) -> int:
    return int(resource_slice.get("Count", resource_slice.get("count", 0)))


def _of_node(resource_slice: Case) -> str:
    return str(resource_slice.get("nodeName", resource_slice.get("node_name", "")))


def _asked(claim: Case) -> int:
    return int(claim.get("count") or 1)


def _claim(claim: Case) -> Claim:
    status = claim.get("status") or {}
    allocation = status.get("allocation")
    return Claim(
        namespace=claim.get("namespace", ""),
        name=claim["name"],
        requests=(DeviceRequest("request", claim["device_class_name"], _asked(claim)),),
        queue=(claim.get("labels") or {}).get(QUEUE_LABEL, ""),
        allocation=None if allocation is None else _allocation(allocation),
        reserved_for=tuple(user["uid"] for user in status.get("reservedFor") or ()),
        # The engine's test code gives claims no ids.
        uid="",
    )


def _allocation(allocation: Case) -> Allocation:
    results = (allocation.get("devices") or {}).get("results") or ()
    selector = allocation.get("nodeSelector")
    terms = None if selector is None else tuple(map(_node_term, selector.get("nodeSelectorTerms") or ()))
    return Allocation(tuple((made["driver"], made["pool"], made["device"]) for made in results), terms)


def _node_term(term: Case) -> NodeTerm:
    def expressions(key: str) -> tuple[Expression, ...]:
        found = term.get(key) or ()
        return tuple(Expression(e["key"], e["operator"], tuple(e.get("values") or ())) for e in found)

    return NodeTerm(expressions("matchExpressions"), expressions("matchFields"))
