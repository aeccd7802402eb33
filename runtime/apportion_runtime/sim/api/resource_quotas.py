"""The ResourceQuota admission plugin: limits the total of pods and objects in a namespace.

Source: k8s.io/apiserver pkg/admission/plugin/resourcequota/controller.go, pkg/quota/v1/evaluator/core/pods.go at
Kubernetes v1.36.3; k8s.io/apimachinery pkg/api/resource (Quantity.String).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion_api.kubernetes.objects import QuotaScope, ResourceQuota
from apportion_api.objects import read
from apportion_api.quantities import canonical_text
from apportion_runtime.admission.objects import kind_of, name_of, namespace_of
from apportion_runtime.sim.engine import Denied, reading
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import CPU, MEMORY, containers_of, pod_requests
from apportion_runtime.snapshots.quantities import NANO, parse_quantity

_POD = ("", "Pod")
_STORAGE = "ephemeral-storage"
_NATIVE = (CPU, MEMORY, _STORAGE)
_MUST_BE_SAID = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")
_HUGE = "hugepages-"
_BINARY = (MEMORY, _STORAGE, "storage", _HUGE)
Usage = Mapping[str, int]
"""Amounts in billionths, by resource name of the quota."""


@dataclass(slots=True)
class Quota:
    """A quota and its usage. Amounts are billionths."""

    name: str
    namespace: str
    hard: Mapping[str, int]
    scopes: Sequence[QuotaScope]
    used: dict[str, int] = field(default_factory=dict)


def quota_of(made: Manifest) -> Quota:
    """Return the quota of a ResourceQuota object. Raises `ValueError` for what the API server does not accept."""
    quota = read(ResourceQuota, made)
    if quota.faults:
        raise ValueError(str(quota.faults[0]))
    hard = {name: parse_quantity(amount) for name, amount in quota.hard.items()}
    return Quota(quota.name, quota.namespace, hard, quota.all_scopes)


class Quotas:
    """The quotas of a cluster, charged when objects are created and deleted."""

    def __init__(self, objects: Iterable[Manifest]) -> None:
        self._by_namespace: dict[str, list[Quota]] = {}
        for made in sorted(objects, key=name_of):
            with reading(f"ResourceQuota {namespace_of(made)}/{name_of(made)}"):
                quota = quota_of(made)
            self._by_namespace.setdefault(quota.namespace, []).append(quota)
        self._charged: dict[tuple[str, str, str], list[tuple[Quota, Usage]]] = {}
        # A controller creates its pods from one spec.
        self._last_usage: tuple[Manifest, Usage] | None = None

    def of(self, namespace: str) -> Sequence[Quota]:
        """Return the quotas of a namespace, by name."""
        return self._by_namespace.get(namespace, ())

    def charge(self, made: Manifest) -> None:
        """Charge a new object to every quota that applies to it.

        Raises:
            Denied: If a quota would be exceeded, with the API server's message; then nothing is charged.
        """
        self._take(made, self._charges(made, refuses=True))

    def observe(self, pod: Manifest) -> None:
        """Charge an existing pod, even over the quota; pods charged at creation are skipped."""
        if _key(pod) not in self._charged:
            self._take(pod, self._charges(pod, refuses=False))

    def _charges(self, made: Manifest, *, refuses: bool) -> list[tuple[Quota, Usage]]:
        quotas = self.of(namespace_of(made))
        counted = self._usage_of(made) if quotas else {}
        charges: list[tuple[Quota, Usage]] = []
        for quota in quotas:
            names = [name for name in quota.hard if name in counted or (_is_pod(made) and _is_of_pods(name))]
            if not names or not all(_in_scope(made, scope) for scope in quota.scopes):
                continue
            if refuses and _is_pod(made):
                _refuse_silence(made, quota, names)
            asked = {name: counted[name] for name in names if counted.get(name)}
            over = [name for name in asked if quota.used.get(name, 0) + asked[name] > quota.hard[name]]
            if refuses and over:
                raise Denied(
                    f"{_forbidden(made)}: exceeded quota: {quota.name}, requested: {_text(asked, over)}, "
                    f"used: {_text(quota.used, over)}, limited: {_text(quota.hard, over)}"
                )
            charges.append((quota, asked))
        return charges

    def _usage_of(self, made: Manifest) -> Usage:
        if not _is_pod(made):
            return usage_of(made)
        last = self._last_usage
        if last is None or last[0] is not made["spec"]:
            last = self._last_usage = made["spec"], usage_of(made)
        return last[1]

    def _take(self, made: Manifest, charges: list[tuple[Quota, Usage]]) -> None:
        for quota, charged in charges:
            for name, amount in charged.items():
                quota.used[name] = quota.used.get(name, 0) + amount
        if charges:
            self._charged[_key(made)] = charges

    def release(self, kind: str, namespace: str, name: str) -> bool:
        """Release the charge of an object; return whether it was charged."""
        charges = self._charged.pop((kind, namespace, name), ())
        for quota, asked in charges:
            for resource, amount in asked.items():
                quota.used[resource] -= amount
        return bool(charges)


def _key(made: Manifest) -> tuple[str, str, str]:
    return str(made.get("kind")), namespace_of(made), name_of(made)


def _is_pod(made: Manifest) -> bool:
    return kind_of(made) == _POD


def _is_of_pods(name: str) -> bool:
    plain = name.removeprefix("requests.").removeprefix("limits.")
    return name == "pods" or plain in _NATIVE or (name.startswith("requests.") and "/" in plain) or _HUGE in name


def plural(kind: str) -> str:
    """Return the resource name of a kind in the API."""
    low = kind.lower()
    return f"{low}es" if low.endswith(("s", "x", "ch")) else f"{low[:-1]}ies" if low.endswith("y") else f"{low}s"


def _resource(made: Manifest) -> str:
    group, kind = kind_of(made)
    return f"{plural(kind)}.{group}" if group else plural(kind)


def _forbidden(made: Manifest) -> str:
    return f'{_resource(made)} "{name_of(made)}" is forbidden'


def usage_of(made: Manifest) -> dict[str, int]:
    """Return the usage of an object. Raises `ValueError` for an invalid amount."""
    counted = {f"count/{_resource(made)}": NANO}
    if not _is_pod(made):
        return counted
    counted["pods"] = NANO
    for side in ("requests", "limits"):
        for name, amount in pod_requests(made["spec"], side=side).items():
            nanos = amount * (NANO // 1000 if name == CPU else NANO)
            if side == "limits":
                if name in _NATIVE:
                    counted[f"limits.{name}"] = nanos
                continue
            counted[f"requests.{name}"] = nanos
            if name in _NATIVE or name.startswith(_HUGE):
                counted[name] = nanos
    return counted


def _refuse_silence(made: Manifest, quota: Quota, names: Iterable[str]) -> None:
    """A quota on cpu or memory requires every container to specify a request or limit."""
    if (made["spec"].get("resources") or {}).get("requests") or (made["spec"].get("resources") or {}).get("limits"):
        return
    missing: dict[str, list[str]] = {}
    for name in sorted(set(names) & set(_MUST_BE_SAID)):
        side = "limits" if name.startswith("limits.") else "requests"
        resource = name.rpartition(".")[2]
        silent = [
            str(container.get("name"))
            for container in containers_of(made["spec"])
            if resource not in ((container.get("resources") or {}).get(side) or {})
        ]
        if silent:
            missing[name] = sorted(set(silent))
    if missing:
        message = "; ".join(f"{name} for: {','.join(containers)}" for name, containers in missing.items())
        raise Denied(f"{_forbidden(made)}: failed quota: {quota.name}: must specify {message}")


def _in_scope(made: Manifest, scope: QuotaScope) -> bool:
    if not _is_pod(made):
        return False
    spec = made["spec"]
    match scope.name:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "PriorityClass":
            name = spec.get("priorityClassName") or ""
            match scope.operator:
                case "In":
                    return name in scope.values
                case "NotIn":
                    return name not in scope.values
                case "DoesNotExist":
                    return not name
                case _:
                    return bool(name)
        case _:
            return False


def _is_best_effort(spec: Mapping[str, Any]) -> bool:
    totals = (*pod_requests(spec).items(), *pod_requests(spec, side="limits").items())
    return not any(name in (CPU, MEMORY) and amount for name, amount in totals)


def _text(amounts: Mapping[str, int], names: Iterable[str]) -> str:
    return ",".join(f"{name}={quantity_text(name, amounts.get(name, 0))}" for name in sorted(names))


def quantity_text(name: str, nanos: int) -> str:
    """Return an amount in billionths as Kubernetes writes it; bytes have binary suffixes."""
    return canonical_text(nanos, is_binary=any(part in name for part in _BINARY))
