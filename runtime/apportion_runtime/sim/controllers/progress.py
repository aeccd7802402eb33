"""The progress of a workload, or of one of its pods.

Work is counted in seconds of one worker; its rate is the number of active workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_runtime.core.snapshot import SubGroup

_DEFAULT_PART = "default"


@dataclass(slots=True)
class Progress:
    """Work that progresses at a rate; when it stops, progress since the last checkpoint is lost.

    `checkpoint` is the work between two checkpoints: 0 keeps everything, None nothing. `generation` counts changes of the rate.
    """

    total: float
    checkpoint: float | None
    gpus_per_worker: float
    done: float = 0.0
    pace: float = 0.0
    at: float = 0.0
    generation: int = 0

    def change_rate(self, now: float, pace: float) -> None:
        """Continue with a different number of workers."""
        self.done = min(self.total, self.done + self.pace * (now - self.at))
        self.at, self.pace = now, pace
        self.generation += 1

    def stop(self, now: float) -> float:
        """Stop, and return the lost GPU-seconds."""
        self.change_rate(now, 0.0)
        if self.checkpoint is None:
            kept = 0.0
        elif self.checkpoint > 0:
            kept = self.done // self.checkpoint * self.checkpoint
        else:
            kept = self.done
        lost, self.done = self.done - kept, kept
        return lost * self.gpus_per_worker

    @property
    def ends_at(self) -> float | None:
        """The completion time at the current rate; None if it is stopped."""
        return self.at + (self.total - self.done) / self.pace if self.pace > 0 else None


def is_satisfied(part: SubGroup, counts: Mapping[str, int]) -> bool:
    """Return whether a sub-group has its minimum, given the number of pods of each pod set."""
    children = part.children
    if not children:
        return counts.get(part.name, 0) >= (part.min_members or 0)
    satisfied = 0
    for child in children:
        # Most are pod sets.
        if child.children:
            satisfied += is_satisfied(child, counts)
        else:
            satisfied += counts.get(child.name, 0) >= (child.min_members or 0)
    return satisfied >= (len(children) if part.min_members is None else part.min_members)


def part_of(sub_group: str) -> str:
    """Return the pod set of a pod, by the sub-group it names."""
    return sub_group or _DEFAULT_PART
