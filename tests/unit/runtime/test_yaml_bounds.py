"""Which YAML texts are rejected before they are composed."""

from __future__ import annotations

import pytest

from apportion_runtime.snapshots import yaml_bounds
from apportion_runtime.snapshots.yaml_bounds import BoundsError, check_bounds


def _bomb(levels: int) -> str:
    """Return a text in which each level has nine aliases of the one before."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels)]
    return "\n".join(lines)


def test_length_of_a_text_without_aliases_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_bounds, "MAX_EXPANDED", 10)
    check_bounds("\n".join(f"- {number}" for number in range(1000)))


def test_aliases_that_add_too_many_values_are_rejected_at_their_line() -> None:
    with pytest.raises(BoundsError, match="aliases add more than 5000000 values") as found:
        check_bounds(_bomb(9))
    assert found.value.line == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{'[' * 201}{']' * 201}", "more than 200 levels of nesting"),
        ("a: &a {b: *a}", "an alias refers to its own parent"),
    ],
)
def test_text_that_overflows_the_stack_is_rejected(text: str, message: str) -> None:
    with pytest.raises(BoundsError, match=message):
        check_bounds(text)
