"""Every kind of declaration that may be omitted has a location in AP118's message."""

from __future__ import annotations

from apportion_compiler.checks.declaration_left_out import FIELDS
from apportion_policy.unused_declarations import DECLARATION_KINDS


def test_every_declaration_kind_has_a_field() -> None:
    assert set(FIELDS) == DECLARATION_KINDS
