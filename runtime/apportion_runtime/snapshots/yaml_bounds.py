"""The bounds of a YAML text, checked before it is composed.

libyaml composes recursively without a bound, until the stack overflows and the process dies; aliases expand a short
text to any size. Depth and size are counted from the parser's events, which neither recurse nor expand aliases.
"""

from __future__ import annotations

import yaml

MAX_DEPTH = 200
MAX_EXPANDED = 5_000_000
"""The maximum number of values that aliases add. Values that a text contains itself are limited only by its length."""


class BoundsError(ValueError):
    """A text is nested too deeply or too long; the error has the message and the line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def check_bounds(text: str) -> None:
    """Raise `BoundsError` for a text that must not be composed; invalid YAML passes, and is rejected by the reader."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    n_values = n_expanded = 0
    try:
        for event in yaml.parse(text.encode("utf-8", "surrogatepass"), Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, n_values))
                n_values += 1
                if len(open_nodes) > MAX_DEPTH:
                    raise BoundsError(f"more than {MAX_DEPTH} levels of nesting", _line(event))
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = open_nodes.pop()
                if anchor is not None:
                    sizes[anchor] = n_values - before
            elif isinstance(event, yaml.ScalarEvent):
                n_values += 1
                if event.anchor is not None:
                    sizes[event.anchor] = 1
            elif isinstance(event, yaml.AliasEvent):
                if any(anchor == event.anchor for anchor, _ in open_nodes):
                    raise BoundsError("an alias refers to its own parent", _line(event))
                size = sizes.get(event.anchor or "", 1)
                n_values, n_expanded = n_values + size, n_expanded + size
                if n_expanded > MAX_EXPANDED:
                    raise BoundsError(f"aliases add more than {MAX_EXPANDED} values", _line(event))
    except yaml.YAMLError:
        return


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0
