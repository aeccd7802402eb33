"""The protocol between the simulated cluster and an engine.

The cluster calls the engine to admit each object, reports what becomes of workloads, and runs its scheduling cycles; the
engine binds and evicts pods, and suspends and releases workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from apportion_runtime.sim.api.events import EngineEvent
from apportion_runtime.sim.scenario.format import Manifest

if TYPE_CHECKING:
    from apportion_runtime.core.snapshot import Pod
    from apportion_runtime.sim.api.cluster_state import PodState
    from apportion_runtime.sim.controllers.running_workload import Running
    from apportion_runtime.sim.controllers.workloads import Workloads
    from apportion_runtime.sim.provisioning.node_pools import NodePools

Handlers = Mapping[type[EngineEvent], Callable[[Any], None]]


class Denied(ValueError):
    """An object that is not admitted, in the words of whoever refused it."""


class UnreadableError(ValueError):
    """An engine's own objects, from which it cannot begin, in words that name the object and the place in it."""


@contextmanager
def reading(what: str) -> Generator[None]:
    """Have what goes wrong while an object is read be said with the object's name.

    Raises:
        UnreadableError: If anything does.
    """
    try:
        yield
    except UnreadableError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as wrong:
        raise UnreadableError(f"invalid {what}: {wrong}") from None


class Engine(Protocol):
    """What decides about pods and workloads."""

    @property
    def name(self) -> str:
        """The target that it is of, as the compiler names it."""
        ...

    @property
    def parents(self) -> Mapping[str, str | None]:
        """Its queues, and of each the one above."""
        ...

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Take in what it acts upon, once, before anything happens."""
        ...

    def handlers(self) -> Handlers:
        """Return what is done at each kind of its own events."""
        ...

    def run_cycle(self) -> None:
        """Run one scheduling cycle. It is called for the first cycle after a change."""
        ...

    def admit(self, made: Manifest) -> Manifest:
        """Return an object that is about to be made (a workload, or a pod) as it is kept.

        Raises:
            Denied: If it is refused. Whoever makes a pod for a workload tries again later.
        """
        ...

    def made(self, running: Running) -> None:
        """A workload was made; of one that is suspended there are no pods until `Workloads.change` releases it."""
        ...

    def changed(self, running: Running) -> None:
        """A workload was scaled, suspended, released, or otherwise changed."""
        ...

    def finished(self, running: Running) -> None:
        """A workload is over: its outcome stands, its pods are gone, its object goes next."""
        ...

    def take_in(self, running: Running, made: Manifest) -> Pod:
        """Have a pod that was just made belong to its group, and return its record, which is among the records."""
        ...

    def starts_together(self, running: Running) -> bool:
        """Tell whether it gives places to the minimum of each of a workload's groups at once, or to none of it."""
        ...

    def regroup(self, running: Running, made: Manifest) -> None:
        """Have the group of a pod that was there already be as the workload wants it by now."""
        ...

    def left(self, pod: PodState) -> None:
        """A pod is gone."""
        ...
