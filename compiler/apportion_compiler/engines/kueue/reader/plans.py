"""AdmissionCheck and ProvisioningRequestConfig: which pools are asked for as one unit, and how.

A check names flavors in the ClusterQueues that use it, or holds for all that such a queue has. What it is of a pool, it
is for every queue: a policy has one plan for a pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.engines.kueue.emit.provisioning import RETRY_FIELDS
from apportion_compiler.engines.kueue.names import GROUP, PROVISIONING_CONTROLLER
from apportion_compiler.plain_objects import described, integer, items, mapping, name_of, of_kind, text
from apportion_compiler.readers.objects import unknown_fields
from apportion_compiler.readers.record import Manifest, Note, PlanRecord
from apportion_policy.provisioning import MAX_RUN_DURATION_PARAMETER, parse_run_seconds

_CONFIG = "ProvisioningRequestConfig"
_CONFIG_FIELDS = ("provisioningClassName", "parameters", "managedResources", "retryStrategy", "podSetMergePolicy")


def plans_of(manifests: Sequence[Manifest]) -> Mapping[str, PlanRecord]:
    """Return the plans by the name of their check, where the configuration that it names is there."""
    configs = {name_of(manifest): manifest for manifest in of_kind(manifests, GROUP, _CONFIG)}
    found: dict[str, PlanRecord] = {}
    for check in of_kind(manifests, GROUP, "AdmissionCheck"):
        config = configs.get(text(check, "spec", "parameters", "name") or "")
        if config is not None and _asks_for_capacity(check):
            found[name_of(check)] = _plan(name_of(check), config)
    return found


def plan_of_flavor(manifests: Sequence[Manifest], plans: Mapping[str, PlanRecord]) -> Mapping[str, str]:
    """Return the plan of each flavor that a ClusterQueue uses with one; the first by name where there are several."""
    found: dict[str, set[str]] = {}
    for queue in of_kind(manifests, GROUP, "ClusterQueue"):
        every = [
            str(flavor)
            for group in items(queue, "spec", "resourceGroups")
            for held in items(group, "flavors")
            if (flavor := text(held, "name")) is not None
        ]
        for check in items(queue, "spec", "admissionChecksStrategy", "admissionChecks"):
            named = [flavor for flavor in items(check, "onFlavors") if isinstance(flavor, str)]
            for flavor in named or every:
                found.setdefault(flavor, set()).add(text(check, "name") or "")
        for name in items(queue, "spec", "admissionChecks"):
            for flavor in every:
                found.setdefault(flavor, set()).add(str(name))
    return {
        flavor: min(of_plans) for flavor, checks in found.items() if (of_plans := [c for c in checks if c in plans])
    }


def check_notes(manifests: Sequence[Manifest], plans: Mapping[str, PlanRecord], used: set[str]) -> Iterator[Note]:
    """Yield notes on checks that became no plan of a pool, and on what plans have no word for."""
    for manifest in of_kind(manifests, GROUP, "AdmissionCheck"):
        if not _asks_for_capacity(manifest):
            yield Note(described(manifest), "a policy cannot declare this check")
        elif name_of(manifest) not in plans or name_of(manifest) not in used:
            yield Note(described(manifest), "declare a provisioning plan, and name it in the pools of its flavors")
    for manifest in of_kind(manifests, GROUP, _CONFIG):
        yield from unknown_fields(manifest, _CONFIG_FIELDS, "spec")


def _asks_for_capacity(check: Manifest) -> bool:
    return text(check, "spec", "controllerName") == PROVISIONING_CONTROLLER


def _plan(name: str, config: Manifest) -> PlanRecord:
    parameters = {key: str(value) for key, value in mapping(config, "spec", "parameters").items()}
    duration = parse_run_seconds(parameters.get(MAX_RUN_DURATION_PARAMETER, ""))
    if duration is not None:
        del parameters[MAX_RUN_DURATION_PARAMETER]
    retry = mapping(config, "spec", "retryStrategy")
    limit, base, most = (integer(retry, field) for field, _ in RETRY_FIELDS)
    return PlanRecord(
        name,
        text(config, "spec", "provisioningClassName"),
        max_run_duration=duration,
        retry_limit=limit,
        retry_backoff_base=base,
        retry_backoff_max=most,
        parameters=parameters,
    )
