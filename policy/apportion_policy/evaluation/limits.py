"""Resource limits of an evaluation. Only the caller sets them, never the policy's tree."""

from __future__ import annotations

from dataclasses import astuple, dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one evaluation; exceeding any of them ends it with a fault.

    Attributes:
        wall_s: Seconds from the start of the child process to its response, including the import of the model.
        cpu_s: Seconds of processor time.
        memory_bytes: Address space of the child, including the interpreter (about 150 MiB).
        output_bytes: Size of the response: the policy as data.
        print_bytes: Maximum size of the policy's printed output, of which the first `PRINTS_KEPT_BYTES` are shown.
        open_files: Number of open files.
        source_bytes: Size of the policy's Python file; documents have a separate limit.
        allow_missing_layers: Evaluate even if the system lacks a layer that unreviewed code requires.
    """

    wall_s: float = 30.0
    cpu_s: int = 20
    memory_bytes: int = 2048 * MIB
    output_bytes: int = 128 * MIB
    print_bytes: int = 16 * MIB
    open_files: int = 128
    source_bytes: int = 16 * MIB
    allow_missing_layers: bool = False

    def to_arguments(self) -> tuple[str, ...]:
        """Return the limits as command-line arguments, in the order of the fields."""
        return (str(self.wall_s), *(str(int(value)) for value in astuple(self)[1:]))

    @classmethod
    def from_arguments(cls, arguments: tuple[str, ...]) -> Limits:
        """Parse the output of `to_arguments`."""
        wall_s, cpu_s, memory, output, prints, files, source, allowed = arguments
        bounds = (int(cpu_s), int(memory), int(output), int(prints), int(files), int(source))
        return cls(float(wall_s), *bounds, allow_missing_layers=allowed == "1")


PRINTS_KEPT_BYTES = 64 * 1024
