"""AdmissionCheck and ProvisioningRequestConfig: pools that are provisioned as one unit.

A check applies to the flavors that a ClusterQueue lists for it, or to all of its flavors. A policy has one plan for a
pool, so a check applies to every queue of the pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kueue.names import PROVISIONING_CONTROLLER
from apportion_api.kueue.objects import AdmissionCheck, ClusterQueue, ProvisioningRequestConfig
from apportion_api.objects import read_all
from apportion_compiler.readers.record import Manifest, Note, PlanRecord
from apportion_policy.provisioning import MAX_RUN_DURATION_PARAMETER, parse_run_seconds


def plans_of(manifests: Sequence[Manifest]) -> Mapping[str, PlanRecord]:
    """Return the plans by the name of their check, if its configuration exists."""
    configs = {config.name: config for config in read_all(ProvisioningRequestConfig, manifests)}
    return {
        check.name: _plan(check.name, configs[check.parameters])
        for check in read_all(AdmissionCheck, manifests)
        if check.controller == PROVISIONING_CONTROLLER and check.parameters in configs
    }


def plan_of_flavor(manifests: Sequence[Manifest], plans: Mapping[str, PlanRecord]) -> Mapping[str, str]:
    """Return the plan of each flavor that a ClusterQueue uses with a check; the first by name if there are several."""
    found: dict[str, set[str]] = {}
    for queue in read_all(ClusterQueue, manifests):
        for check in queue.all_checks:
            for flavor in check.flavors or queue.flavors:
                found.setdefault(flavor, set()).add(check.name)
    return {
        flavor: min(of_plans) for flavor, checks in found.items() if (of_plans := [c for c in checks if c in plans])
    }


def check_notes(manifests: Sequence[Manifest], plans: Mapping[str, PlanRecord], used: set[str]) -> Iterator[Note]:
    """Yield notes on checks that are not imported as a plan of a pool."""
    for check in read_all(AdmissionCheck, manifests):
        if check.controller != PROVISIONING_CONTROLLER:
            yield Note(str(check), "a policy cannot declare an admission check with this controller")
        elif check.name not in plans or check.name not in used:
            yield Note(
                str(check), "is dropped: declare a provisioning plan, and set it on the pools that its flavors use"
            )


def _plan(name: str, config: ProvisioningRequestConfig) -> PlanRecord:
    parameters = dict(config.parameters)
    duration = parse_run_seconds(parameters.get(MAX_RUN_DURATION_PARAMETER, ""))
    if duration is not None:
        del parameters[MAX_RUN_DURATION_PARAMETER]
    return PlanRecord(
        name,
        config.provisioning_class,
        max_run_duration=duration,
        retry_limit=config.retry_limit,
        retry_backoff_base=config.backoff_base_s,
        retry_backoff_max=config.backoff_max_s,
        parameters=parameters,
    )
