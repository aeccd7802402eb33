"""Keys that occur twice in a mapping of YAML: a loader keeps the last value, and drops the others."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from apportion_runtime.snapshots.document_loader import Loader
from apportion_runtime.snapshots.yaml_bounds import BoundsError, check_bounds

_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key that occurs twice in a mapping: its path, such as `workloads[0].gpus`, and both lines, from 1."""

    path: str
    line: int
    first_line: int

    @property
    def message(self) -> str:
        """What is wrong, and the remedy."""
        return f"set twice; remove this value or the one on line {self.first_line}"


def duplicate_key(root: yaml.Node) -> DuplicateKey | None:
    """Return the first duplicate key of a document, outer mappings first; None if there is none.

    Merge keys (`<<`) are no duplicates: they are applied one after the other.
    """
    seen: set[int] = set()
    stack: list[tuple[yaml.Node, str]] = [(root, "")]
    while stack:
        node, path = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        below: list[tuple[yaml.Node, str]] = []
        if isinstance(node, yaml.MappingNode):
            lines: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                    below.append((value, path))
                    continue
                here = f"{path}.{key.value}" if path else str(key.value)
                line = key.start_mark.line + 1
                if (key.tag, key.value) in lines:
                    return DuplicateKey(here, line, lines[key.tag, key.value])
                lines[key.tag, key.value] = line
                below.append((value, here))
        elif isinstance(node, yaml.SequenceNode):
            below = [(item, f"{path}[{number}]") for number, item in enumerate(node.value)]
        stack.extend(reversed(below))
    return None


def check_unique_keys(text: str) -> None:
    """Reject a text of several documents, JSON or YAML, with a duplicate key; a text that is not YAML passes.

    Raises:
        ValueError: With the line and the path of the key.
    """
    try:
        check_bounds(text)
        roots = list(yaml.compose_all(text, Loader=Loader))
    except (BoundsError, yaml.YAMLError):
        return
    for root in roots:
        found = duplicate_key(root)
        if found is not None:
            raise ValueError(f"line {found.line}: {found.path}: {found.message}")
