"""Priority classes, with explicit preemptibility."""

from __future__ import annotations

from pydantic import Field

from apportion_policy.declaration import Declaration
from apportion_policy.identifiers import Identifier, QueueRef

NON_PREEMPTIBLE_FROM = 100
"""KAI's default: a priority of 100 or more is not preemptible (pkg/common/podgroup/preemptible.go)."""


class PriorityClass(Declaration):
    """A tier of workloads.

    Set `preemptible` explicitly: if it is unset, the engine derives it from the value (KAI treats values of 100 and
    above as non-preemptible), which AP405 reports.
    """

    name: Identifier = Field(description="Name of the PriorityClass.")
    value: int = Field(description="Priority; workloads with higher values run first.")
    preemptible: bool | None = Field(
        default=None, description="Whether workloads with this class may be evicted to make room for others."
    )
    queues: tuple[QueueRef, ...] | None = Field(
        default=None,
        description="Queues whose workloads may use the class, including all queues below them. If unset, all queues.",
    )
    global_default: bool = Field(default=False, description="Whether pods that do not specify a class use this one.")
    description: str | None = Field(default=None, description="Description in the PriorityClass object.")
    installed_by_engine: bool = Field(
        default=False, description="Whether the engine's chart installs this class; if true, it is not emitted."
    )

    @property
    def identity(self) -> str:
        """The name."""
        return self.name


TRAIN = PriorityClass(
    name="train", value=50, preemptible=True, installed_by_engine=True, description="Preemptible training"
)
BUILD_PREEMPTIBLE = PriorityClass(
    name="build-preemptible", value=75, preemptible=True, installed_by_engine=True, description="Preemptible build work"
)
BUILD = PriorityClass(
    name="build", value=100, preemptible=False, installed_by_engine=True, description="Build and interactive workloads"
)
INFERENCE = PriorityClass(
    name="inference", value=125, preemptible=False, installed_by_engine=True, description="Serving"
)

DEFAULT_PRIORITY_CLASSES = (TRAIN, BUILD_PREEMPTIBLE, BUILD, INFERENCE)
"""The four classes that KAI's chart installs, with their preemptibility in KAI."""
