"""The controller of Kueue's provisioning admission checks: creates ProvisioningRequests and evaluates their conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apportion_api.kueue.names import WORKLOAD
from apportion_api.kueue.objects import ProvisioningRequestConfig
from apportion_runtime.admission.objects import name_of, namespace_of
from apportion_runtime.engines.kueue.provisioning_requests import (
    RequestState,
    answer_of,
    consuming_updates,
    flavor_update,
    is_needed,
    overridden_parameter,
    request_name,
    request_objects,
)
from apportion_runtime.engines.kueue.quota_reservation import admit_if_ready
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState, owner_number
from apportion_runtime.sim.api.object_store import Change
from apportion_runtime.sim.provisioning.request_consumers import REQUEST
from apportion_runtime.sim.scenario.format import Manifest

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue

_TEMPLATE = "PodTemplate"


class Provisioner:
    """The admission checks of workloads."""

    def __init__(self, engine: Kueue) -> None:
        self._engine = engine
        engine.cluster_state.store.watch(REQUEST, self._changed)

    def owner(self, made: Manifest) -> int:
        """Return the workload of a request; -1 for a request created by a user."""
        return owner_number(made, self._engine.units)

    def ask(self, unit: WorkloadState, check: str) -> None:
        """Request capacity for a workload with quota, unless it needs none."""
        engine = self._engine
        config = engine.configured.provisioning[check]
        if config is None:
            engine.note_waiting(unit.number, f"the controller of admission check {check} is not simulated")
            return
        if not is_needed(unit.assigned, config):
            unit.ready[check] = {}
            return
        store = engine.cluster_state.store
        workload = store.get(WORKLOAD, unit.namespace, unit.name)
        assert workload is not None
        if (endless := overridden_parameter(workload, config)) is not None:
            engine.note_waiting(unit.number, endless)
            return
        name = request_name(unit.name, check, unit.retries.get(check, 0) + 1)
        flavors = engine.configured.rules.flavors
        updates = {each.name: flavor_update(flavors, unit.flavors.get(each.name, {})) for each in unit.assigned}
        unit.requests[check] = name
        engine.cluster_state.note("requested", workload=unit.number, why=f"Created ProvisioningRequest: {name}")
        for made in request_objects(workload, name, config, unit.assigned, updates):
            if made["kind"] == _TEMPLATE:
                unit.templates.add(name_of(made))
            if store.get(str(made["kind"]), unit.namespace, name_of(made)) is None:
                store.create(made)

    def _changed(self, change: Change) -> None:
        """Recreate a request that was deleted while its workload waits for it."""
        if change.what == "deleted":
            for unit, check in self._asking(change.made):
                if unit.phase is Phase.RESERVED and check not in unit.ready:
                    self.ask(unit, check)

    def _asking(self, request: Manifest) -> list[tuple[WorkloadState, str]]:
        """Return the workload and check of a request."""
        return [
            (unit, check)
            for unit in self._engine.units.values()
            for check, name in unit.requests.items()
            if (unit.namespace, name) == (namespace_of(request), name_of(request))
        ]

    def answered(self, request: Manifest) -> None:
        """Handle a change of the state of a request."""
        for unit, check in self._asking(request):
            config = self._engine.configured.provisioning[check]
            assert config is not None
            self._follow(unit, check, config, request)

    def _follow(self, unit: WorkloadState, check: str, config: ProvisioningRequestConfig, request: Manifest) -> None:
        engine = self._engine
        answer, message = answer_of(request)
        if answer is RequestState.FAILED or (answer is RequestState.EXPIRED and unit.phase is not Phase.ADMITTED):
            because = "failure" if answer is RequestState.FAILED else "booking expired"
            limit, base_s, max_s = config.retries
            if unit.retries.get(check, 0) + 1 <= limit:
                engine.leaving.try_again(unit, check, f"Retrying after {because}: {message}", base_s, max_s)
            else:
                engine.leaving.deactivate(unit, f"Admission check {check} is Rejected: {message}")
        elif answer is RequestState.REVOKED:
            engine.leaving.deactivate(unit, f"Admission check {check} is Rejected: {message}")
        elif answer is RequestState.READY and check not in unit.ready:
            unit.ready[check] = consuming_updates(request, config, unit.assigned)
            admit_if_ready(engine, unit)
            engine.cluster_state.request_cycle()
        elif answer is RequestState.PENDING:
            conditions = [each for each in request["status"]["conditions"] if each["type"] == "Provisioned"]
            if conditions:
                engine.note_waiting(unit.number, conditions[0]["message"])

    def forget(self, unit: WorkloadState) -> None:
        """Delete the requests of a finished or evicted workload, and their templates."""
        store = self._engine.cluster_state.store
        names, unit.requests = tuple(unit.requests.values()), {}
        templates, unit.templates = sorted(unit.templates), set()
        for name in templates:
            if store.get(_TEMPLATE, unit.namespace, name) is not None:
                store.delete(_TEMPLATE, unit.namespace, name)
        for name in names:
            if store.get(REQUEST, unit.namespace, name) is not None:
                store.delete(REQUEST, unit.namespace, name)
