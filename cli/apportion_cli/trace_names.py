"""The names of a cluster for those of a trace: `--trace-queue`, `--trace-priority` and `--trace-gpu-model`."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Named = TypeVar("Named")


class UsedNames(UserDict[str, Named]):
    """A mapping that records the keys that were looked up."""

    def __init__(self, names: Mapping[str, Named] | None = None, used: set[str] | None = None) -> None:
        self.used: set[str] = set() if used is None else used
        super().__init__(names or {})

    def __getitem__(self, key: str) -> Named:
        found: Named = super().__getitem__(key)
        self.used.add(key)
        return found


@dataclass(frozen=True, slots=True)
class TraceNames:
    """The names of the cluster for those of a trace; docs/traces.md has the keys of each format.

    Attributes:
        queues: Queues, such as by QoS class or account.
        priorities: Priority classes.
        models: GPU models in node labels, by the GPU type of the trace.
    """

    queues: UsedNames[str] = field(default_factory=UsedNames)
    priorities: UsedNames[str] = field(default_factory=UsedNames)
    models: UsedNames[tuple[str, ...]] = field(default_factory=UsedNames)

    def unused(self) -> Iterator[tuple[str, str]]:
        """Yield the option and the name of each mapping that the reader of a trace did not look up."""
        options: tuple[tuple[str, UsedNames[str] | UsedNames[tuple[str, ...]]], ...] = (
            ("--trace-queue", self.queues), ("--trace-priority", self.priorities), ("--trace-gpu-model", self.models),
        )  # fmt: skip
        for option, names in options:
            yield from ((option, name) for name in names.data if name not in names.used)
