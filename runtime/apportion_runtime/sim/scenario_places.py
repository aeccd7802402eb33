"""Where in the text of a scenario something stands."""

from __future__ import annotations

import re

import yaml

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def line_of(text: str, path: str) -> int | None:
    """Return the line of a field such as `workloads[0].pods`, counted from 1; of what is nearest above it where it is missing.

    None where the text is no YAML, or the path begins with nothing of it.
    """
    try:
        at = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line: int | None = None
    for number, name in _STEP.findall(path):
        found = None
        if number and isinstance(at, yaml.SequenceNode) and int(number) < len(at.value):
            found = (at.value[int(number)], at.value[int(number)])
        elif name and isinstance(at, yaml.MappingNode):
            found = next(((key, value) for key, value in at.value if key.value == name), None)
        if found is None:
            break
        where, at = found
        line = where.start_mark.line + 1
    return line


def place_of(wrong: yaml.YAMLError) -> tuple[str, int | None]:
    """Return what is wrong with a text that is no YAML, in one line, and in which."""
    problem, mark = getattr(wrong, "problem", None), getattr(wrong, "problem_mark", None)
    return str(problem or wrong).replace("\n", " "), None if mark is None else mark.line + 1
