"""The type of a check: a pure function from declarations or a graph to findings, which neither raises nor mutates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.graph import PolicyGraph

StructureCheck = Callable[[Declarations, date], Iterator[Diagnostic]]
Check = Callable[[PolicyGraph], Iterator[Diagnostic]]
FindingCheck = Callable[[Declarations, date, Sequence[Diagnostic]], Iterator[Diagnostic]]
