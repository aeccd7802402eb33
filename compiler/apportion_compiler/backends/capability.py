"""How a backend supports each feature of a policy.

Each backend begins with a `CAPABILITIES` table with an entry for every `Feature`; a test fails if one is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from apportion_compiler.ir.program import Program
from apportion_policy.source import SourceLocation


class Feature(str, Enum):
    """A feature that a policy can require of an engine."""

    QUEUE_TREE = "queue-tree"
    GUARANTEED = "guaranteed"
    LIMIT = "limit"
    LIMIT_OVER_NAMESPACES = "limit-over-namespaces"
    LENDING_LIMIT = "lending-limit"
    OVER_QUOTA_WEIGHT = "over-quota-weight"
    WEIGHT_PER_RESOURCE = "weight-per-resource"
    QUEUE_PRIORITY = "queue-priority"
    PREEMPT_MIN_RUNTIME = "preempt-min-runtime"
    RECLAIM_MIN_RUNTIME = "reclaim-min-runtime"
    GPU_MODEL_QUOTA = "gpu-model-quota"
    MIXED_GPU_COUNTING = "mixed-gpu-counting"
    EXTENDED_RESOURCES = "extended-resources"
    GPU_SHARING = "gpu-sharing"
    USER_LIMITS = "user-limits"
    PRIORITY_CLASSES = "priority-classes"
    PREEMPTIBILITY = "preemptibility"
    ALLOWED_CLASSES = "allowed-classes"
    ALLOWED_POOLS = "allowed-pools"
    NAMESPACES = "namespaces"
    DEFAULT_QUEUE = "default-queue"
    PLACEMENT = "placement"
    POOL_PLACEMENT = "pool-placement"
    TOPOLOGY = "topology"
    QUEUED_PROVISIONING = "queued-provisioning"


@dataclass(frozen=True, slots=True)
class Native:
    """The engine supports the feature directly, in `field`."""

    field: str


def _every_program(program: Program) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Lowered:
    """The feature is emulated; `approximation` describes the limitations, and is empty if there are none.

    `concerns` returns whether the limitations affect a program; the feature is exact in all others.
    """

    by: str
    approximation: str
    concerns: Callable[[Program], bool] = field(default=_every_program, compare=False)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The engine does not support the feature. `code` is the AP5xx rule that reports its use.

    `hint` is an imperative with an alternative.
    """

    code: str
    reason: str
    hint: str


NO_QUEUED_PROVISIONING = Unsupported(
    "AP505",
    "pools scale up for one pending pod at a time, not for a whole workload",
    "remove `provisioning` from the pool, or use a cluster with Kueue for workloads that need all their nodes at once",
)
"""Of an engine that does not read ProvisioningRequests."""


Capability = Native | Lowered | Unsupported


@dataclass(frozen=True, slots=True)
class Condition:
    """A generated file that configures the engine, and on which features in the table depend.

    The API server accepts the objects without it, so the cluster does not show that it is missing. `applied` continues
    the file's name; `why` describes what the engine does without it.
    """

    file: str
    applied: str
    why: str
    features: tuple[Feature, ...]


Manifest = dict[str, object]
"""A Kubernetes object as plain data."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that is not a Kubernetes object, such as chart values, with its name and content."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a backend: objects in apply order, and additional files."""

    manifests: tuple[Manifest, ...]
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A value in a policy that exceeds a limit of a supported feature, such as a tree that is too deep.

    `message` continues "<backend> does not support"; `code` and `hint` are those of `Unsupported`. If
    `bound_is_a_setting`, an operator can change the limit, and the finding is a warning regardless of its rule.
    """

    code: str
    address: str
    at: SourceLocation
    message: str
    hint: str
    bound_is_a_setting: bool = False


def nothing_refused(program: Program) -> Iterator[Refusal]:
    """Yield nothing: the backend has no limits beyond its table of capabilities."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Backend:
    """A target of emission: name, capabilities, emit function, kinds of its objects, further refusals, and files on which
    the table depends.

    Supported versions are in the engine's traits.
    """

    name: str
    capabilities: Mapping[Feature, Capability]
    emit: Callable[[Program], Output]
    kinds: tuple[str, ...]
    refusals: Callable[[Program], Iterator[Refusal]] = nothing_refused
    conditions: tuple[Condition, ...] = ()

    def conditions_of(self, feature: Feature) -> tuple[Condition, ...]:
        """Return the conditions of a feature."""
        return tuple(condition for condition in self.conditions if feature in condition.features)


@dataclass(frozen=True, slots=True)
class Companion:
    """An additional target of a cluster, with objects other than queues."""

    name: str
    emit: Callable[[Program], Output]
