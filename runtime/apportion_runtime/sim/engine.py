"""The protocol between the simulated cluster and an engine.

The cluster calls the engine to admit each object, notifies it of workload changes, and runs its scheduling cycles; the
engine binds and evicts pods, and suspends and releases workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from apportion_runtime.sim.api.events import EngineEvent
from apportion_runtime.sim.scenario.format import Manifest

if TYPE_CHECKING:
    from apportion_runtime.admission.expansion import Slot
    from apportion_runtime.core.snapshot import Pod
    from apportion_runtime.sim.api.cluster_state import PodState
    from apportion_runtime.sim.controllers.running_workload import Running
    from apportion_runtime.sim.controllers.workloads import Workloads
    from apportion_runtime.sim.provisioning.node_pools import NodePools

Handlers = Mapping[type[EngineEvent], Callable[[Any], None]]


class Denied(ValueError):
    """An object is denied, with the message of the webhook or admission plugin."""


class UnreadableError(ValueError):
    """An object of the engine is invalid and the engine cannot start; the message names the object and field."""


@contextmanager
def reading(what: str) -> Generator[None]:
    """Add the object's name to errors raised while it is read.

    Raises:
        UnreadableError: For any such error.
    """
    try:
        yield
    except UnreadableError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as wrong:
        raise UnreadableError(f"invalid {what}: {fault_text(wrong)}") from None


def fault_text(wrong: Exception) -> str:
    """Return the fault of an object that could not be read, without Python's own terms."""
    if isinstance(wrong, KeyError):
        return f"`{wrong.args[0]}` is missing"
    if isinstance(wrong, AttributeError | TypeError):
        return "a value has the wrong type"
    return str(wrong).replace("\n", " ")


def refusal_text(wrong: Exception) -> str:
    """Return why a workload was rejected; a `KeyError` has a kind that is not simulated, with its group, or a field."""
    if isinstance(wrong, KeyError) and isinstance(wrong.args[0], tuple):
        return f"{'/'.join(filter(None, wrong.args[0]))} is not simulated"
    return fault_text(wrong) if isinstance(wrong, KeyError) else str(wrong)


class Engine(Protocol):
    """An engine: decides about pods and workloads."""

    @property
    def name(self) -> str:
        """The name of its target in the compiler."""
        ...

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The parent of each queue."""
        ...

    @property
    def remembers_workloads(self) -> bool:
        """Whether a workload may affect later decisions after its deletion."""
        ...

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine; called once, before the first event."""
        ...

    def handlers(self) -> Handlers:
        """Return the handlers of the engine's own event kinds."""
        ...

    def run_cycle(self) -> None:
        """Run one scheduling cycle. It is called for the first cycle after a change."""
        ...

    def admit(self, made: Manifest) -> Manifest:
        """Return a new object (a workload or a pod) as it is stored.

        Raises:
            Denied: If it is rejected. The controller of a workload retries its pods later.
        """
        ...

    def made(self, running: Running) -> None:
        """Handle the creation of a workload; a suspended one has no pods until `Workloads.change` releases it."""
        ...

    def changed(self, running: Running) -> None:
        """Handle a change of a workload, such as scaling, suspension or release."""
        ...

    def finished(self, running: Running) -> None:
        """Handle the end of a workload: its outcome is set, its pods are gone, its object is deleted next."""
        ...

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Assign a new pod to its group, add its record, and return it."""
        ...

    def create_like(self, running: Running, slot: Slot, name: str) -> tuple[Manifest, Pod] | None:
        """Create, and handle like `add_pod`, a pod that differs from the last one of its workload only in name and index.

        None if it may differ in more, or if the engine has no such shortcut; nothing is created then.
        """
        return None

    def starts_together(self, running: Running) -> bool:
        """Return whether the engine places either the minimum of each of a workload's groups together, or nothing."""
        ...

    def regroup(self, running: Running, made: Manifest) -> None:
        """Update the group of an existing pod to the current state of its workload."""
        ...

    def left(self, pod: PodState) -> None:
        """Handle the deletion of a pod."""
        ...
