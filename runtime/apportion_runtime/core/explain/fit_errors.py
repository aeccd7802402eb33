"""The engine's fit errors of unschedulable jobs and pods, and their messages.

Source: pkg/scheduler/api/common_info/job_errors.go, pod_errors.go; pkg/apis/scheduling/v2alpha2/podgroup_types.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_runtime.core.explain.amounts import GIGABYTE, MILLICORES, decimals
from apportion_runtime.core.resources import CPU, GPU, MEMORY, ResourceIndex, Vector, is_mig

POD_SCHEDULING_ERRORS = "PodSchedulingErrors"
NOT_ENOUGH_RESOURCES = "Not enough resources for the workload"
QUEUE_DOES_NOT_EXIST = "QueueDoesNotExist"
PREEMPTION_DELAY_NOT_ELAPSED = "PreemptionDelayNotElapsed"
DEFAULT_REASON = "Unable to schedule podgroup"
DEFAULT_POD_ERROR = "Unable to schedule pod"
NO_NODES = "no nodes with enough resources were found"
DEFAULT_SUB_GROUP = "default"
_NEXT = ". \n"


@dataclass(frozen=True, slots=True)
class JobFitError:
    """One reason why a job was not placed.

    Attributes:
        reason: The engine's reason: `OverLimit`, `NonPreemptibleOverQuota`, `PodSchedulingErrors`, …
        messages: Sentences.
        detailed: The detailed messages; empty if `messages` are complete.
        sub_group: The sub-group concerned.
        node_group: The topology domain concerned; empty for other errors.
    """

    reason: str
    messages: tuple[str, ...]
    detailed: tuple[str, ...] = ()
    sub_group: str = ""
    node_group: str = ""

    @property
    def detailed_message(self) -> str:
        """The sentences in one line."""
        message = ", ".join(self.detailed or self.messages)
        if self.sub_group not in ("", DEFAULT_SUB_GROUP):
            message = f"subgroup {self.sub_group}: {message}"
        return f"<{self.node_group}>: {message}" if self.node_group else message


def simple(reason: str, message: str) -> JobFitError:
    """Return an error about the whole job in one sentence."""
    return JobFitError(reason, (message,), sub_group=DEFAULT_SUB_GROUP)


def detailed_text(errors: Sequence[JobFitError]) -> str:
    """Return all errors as in the engine's events: one line each, in alphabetical order."""
    return f"\n{_reason(errors)}." + "".join(sorted(f"\n{error.detailed_message}." for error in errors))


def _reason(errors: Sequence[JobFitError]) -> str:
    return errors[0].reason if len(errors) == 1 else DEFAULT_REASON


@dataclass(frozen=True, slots=True)
class TaskFitErrors:
    """Why a pod fits on no node: the number of nodes for each reason, over all attempts, or an error that does not concern nodes."""

    error: str = ""
    reason_counts: Mapping[str, int] = field(default_factory=dict)

    def plus(self, later: TaskFitErrors) -> TaskFitErrors:
        """Merge the errors of a later attempt; the first error that does not concern nodes is kept."""
        counts = dict(self.reason_counts)
        for reason, count in later.reason_counts.items():
            counts[reason] = counts.get(reason, 0) + count
        return TaskFitErrors(self.error, counts)

    @property
    def text(self) -> str:
        """The engine's sentence."""
        base = self.error or NO_NODES
        counts = sorted(f"{count} {reason}" for reason, count in self.reason_counts.items())
        return f"{base}: {_NEXT.join(counts)}." if counts else base


def lacking_in_domain(domain: str, asked: Vector, free: Vector, index: ResourceIndex) -> tuple[list[str], list[str]]:
    """Return the insufficient resources of a topology domain: in short, and with the amounts."""
    short: list[str] = []
    detailed: list[str] = []
    for r, name in enumerate(index.names):
        wanted, there = float(asked[r]), float(free[r])
        if wanted <= there:
            continue
        if is_mig(name):
            detailed.append(_lacks(domain, name, str(int(wanted)), str(int(there))))
            short.append(f"node-group(s) didn't have enough of mig profile: {name}")
            continue
        resource = {CPU: "CPU cores", MEMORY: "memory", GPU: "GPUs"}.get(r, name)
        if r == GPU:
            detailed.append(_lacks(domain, resource, f"{wanted:.3g}", f"{there:.3g}"))
        elif r in (CPU, MEMORY):
            unit = MILLICORES if r == CPU else GIGABYTE
            detailed.append(_lacks(domain, resource, decimals(wanted / unit), decimals(there / unit), noun="resources"))
        else:
            detailed.append(_lacks(domain, resource, str(int(wanted)), str(int(there))))
        short.append(f"node-group(s) didn't have enough resources: {resource}")
    return short, detailed


def _lacks(domain: str, name: str, wanted: str, there: str, *, noun: str = "resource") -> str:
    return f"{domain} didn't have enough {noun}: {name}, requested: {wanted}, available: {there}"


def add(errors: dict[str, TaskFitErrors], uid: str, more: TaskFitErrors) -> None:
    """Add errors of a pod to those recorded before."""
    known = errors.get(uid)
    errors[uid] = more if known is None else known.plus(more)
