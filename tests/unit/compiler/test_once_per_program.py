"""Results that are kept as long as their program."""

from __future__ import annotations

from dataclasses import replace

from apportion_compiler.ir.once_per_program import once_per_program
from apportion_compiler.ir.program import Program
from apportion_policy import Engine, Queue

from .quota_programs import program_of


def test_result_is_computed_once_for_each_program() -> None:
    computed: list[Program] = []

    @once_per_program
    def count(program: Program) -> int:
        computed.append(program)
        return len(program.queues)

    program = program_of(Engine.KAI, Queue(id="a"))
    emptied = replace(program, queues=())
    assert [count(program), count(emptied), count(program)] == [1, 0, 1]
    assert computed == [program, emptied]


def test_result_is_released_with_its_program() -> None:
    n_computed = 0

    @once_per_program
    def count(_: Program) -> int:
        nonlocal n_computed
        n_computed += 1
        return n_computed

    # A new program may have the identity of a released one.
    assert [count(program_of(Engine.KAI, Queue(id="a"))) for _ in range(5)] == [1, 2, 3, 4, 5]
