"""How a backend supports each feature of a policy.

Each backend begins with a `CAPABILITIES` table with an entry for every `Feature`; a test fails if one is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Lowered:
    """The feature is emulated; `approximation` describes the limitations, and is empty if there are none."""

    by: str
    approximation: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The engine does not support the feature. `code` is the AP5xx rule that reports its use.

    `hint` is an imperative with an alternative.
    """

    code: str
    reason: str
    hint: str


Capability = Native | Lowered | Unsupported


@dataclass(frozen=True, slots=True)
class Condition:
    """A file of the output that configures the engine: until it is applied, its features are not what the table says.

    The API server takes the objects without it, so nothing of the cluster shows that it is missing. `applied` goes on
    from the file's name; `why` says what the engine does otherwise.
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
    """What one policy asks beyond the bounds of a feature that the engine otherwise has, such as a tree too deep.

    `message` continues "<backend> does not support"; `code` and `hint` are those of `Unsupported`. `bound_is_a_setting`
    says that an operator can move the bound, so that the finding is a warning whatever its rule.
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
    """A target: its name, its table, its function, what of a single policy it refuses beyond the table, and which of
    its files the table relies on.

    Versions are among the traits of its engine.
    """

    name: str
    capabilities: Mapping[Feature, Capability]
    emit: Callable[[Program], Output]
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
