"""Where faults are injected: the control plane, the proxy, a scheduler on it, and the checks after each fault."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..control_plane import ControlPlane, kubeconfig, kubeconfig_of_proxy
from ..live_scheduler import until
from .api_client import ApiClient
from .cluster_state import ClusterState, read_state
from .fault_proxy import FaultProxy, fault_proxy
from .gangs import Gang, create_gangs
from .invariants import ALWAYS, AT_REST, violations
from .scheduler_process import Scheduler, scheduler

RECOVERY_S = 15.0
"""Within this time after the end of a fault, what can be bound is bound, and the invariants hold."""
_CREATED_S = 180.0
ACCOUNT = "apportion-scheduler"
SYSTEM = "apportion-system"
LEASE = f"{SYSTEM}/apportion-scheduler"
_POLL_S = 0.25
_REST_S = 0.6
"""Three cycles, in which nothing may change any more."""


@dataclass(slots=True)
class FaultBed:
    """The parts that a fault may act on.

    Attributes:
        plane: The control plane.
        api: The administrator's requests, which do not pass the proxy.
        proxy: What the scheduler sends its requests through.
        token: The token of the scheduler's packaged account.
        folder: Where schedulers write their logs.
        scheduler: The scheduler that runs.
    """

    plane: ControlPlane
    api: ApiClient
    proxy: FaultProxy
    token: str
    folder: Path
    _shared: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _scheduler: Scheduler | None = None
    _n_started: int = 0

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of all tests that do not end it, started where none runs."""
        if self._scheduler is None or not self._scheduler.is_running:
            self._scheduler = self._shared.enter_context(self.started())
        return self._scheduler

    def stop_shared(self) -> None:
        """End the shared scheduler: a test starts its own."""
        self._scheduler = None
        self._shared.close()

    @contextlib.contextmanager
    def started(self, settings: Mapping[str, Any] | None = None, *, start: str = "") -> Iterator[Scheduler]:
        """Run a scheduler on the proxy."""
        with self._started(
            kubeconfig_of_proxy(self.plane, self.proxy.port, ACCOUNT, self.token), settings, start
        ) as it:
            yield it

    @contextlib.contextmanager
    def started_directly(self) -> Iterator[Scheduler]:
        """Run a scheduler on the API server itself."""
        with self._started(kubeconfig(self.plane, ACCOUNT, self.token)) as it:
            yield it

    @contextlib.contextmanager
    def started_on_own_proxy(self, settings: Mapping[str, Any]) -> Iterator[tuple[Scheduler, FaultProxy]]:
        """Run a scheduler on a proxy that no other scheduler uses."""
        with fault_proxy(self.plane) as proxy:
            account = kubeconfig_of_proxy(self.plane, proxy.port, ACCOUNT, self.token)
            with self._started(account, settings) as it:
                yield it, proxy

    @contextlib.contextmanager
    def _started(
        self, account: Path, settings: Mapping[str, Any] | None = None, start: str = ""
    ) -> Iterator[Scheduler]:
        self._n_started += 1
        lease = {"leaderElection": {"lease": LEASE}}
        name = f"scheduler-{self._n_started}"
        with scheduler(account, self.folder, name, settings or lease, start=start) as started:
            # The start of the process is not part of the time within which it must recover.
            until(started.said, lambda said: "initial list of cluster objects complete" in said)
            yield started

    def create(self, *gangs: Gang) -> None:
        create_gangs(self.api, *gangs)

    def check(self, by: Scheduler | None = None) -> ClusterState:
        """Return the state, in which the invariants of any moment hold."""
        state = read_state(self.api)
        broken = violations(state, ALWAYS)
        assert not broken, f"{broken}\n{(by or self.scheduler).said()}"
        return state

    def check_for(self, duration_s: float) -> None:
        """Check the invariants of any moment while a time passes."""
        end = time.monotonic() + duration_s
        while time.monotonic() < end:
            self.check()
            time.sleep(_POLL_S)

    def wait_created(self, *gangs: Gang, by: Scheduler | None = None) -> None:
        """Wait until kube-controller-manager, which a fault may have affected as well, has created all pods."""
        deadline = time.monotonic() + _CREATED_S
        while True:
            state = self.check(by)
            if all(len(state.pods_of(gang.name)) >= gang.size for gang in gangs):
                return
            assert time.monotonic() < deadline, (
                f"kube-controller-manager has not created all pods within {_CREATED_S:g} s"
            )
            time.sleep(_POLL_S)

    def wait_bound(
        self, *gangs: Gang, any_of: Sequence[Gang] = (), by: Scheduler | None = None, within_s: float = RECOVERY_S
    ) -> ClusterState:
        """Return the state in which the gangs are bound, every invariant holds, and nothing changes any more.

        If `any_of` is not empty, at least one of these gangs is bound as well.

        The invariants of any moment are checked at each poll. The time is counted from when all pods exist.
        """
        by = by or self.scheduler
        self.wait_created(*gangs, by=by)
        wanted = {gang.name: gang.size for gang in gangs}
        deadline = time.monotonic() + within_s
        while True:
            state = self.check(by)
            missing = [
                f"{gang}: {n_bound} of {size} pods are bound"
                for gang, size in wanted.items()
                if (n_bound := sum(pod.node is not None for pod in state.pods_of(gang))) < size
            ]
            if any_of and not state.bound_gangs() & {gang.name for gang in any_of}:
                missing.append(f"none of {len(any_of)} gangs is bound")
            missing += violations(state, AT_REST)
            if not missing:
                time.sleep(_REST_S)
                if self.check(by).pods == state.pods:
                    return state
                missing.append("pods still change")
            assert time.monotonic() < deadline, f"after {within_s:g} s: {missing}\n{by.said()}"
            time.sleep(_POLL_S)


def check_process(by: Scheduler) -> None:
    """The scheduler runs, and has not printed a traceback."""
    said = by.said()
    assert by.is_running, said
    assert "Traceback" not in said, said
    assert "internal error" not in said, said
