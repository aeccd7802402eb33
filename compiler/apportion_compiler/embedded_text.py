"""Configuration that a ConfigMap holds as YAML.

The text is untrusted, so every fault is a `ValueError`: syntax, a number of five thousand digits, an invalid date,
excessive nesting.
"""

from __future__ import annotations

import yaml

from apportion_policy.documents import MAX_DEPTH, line_nested_too_deeply

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_value(written: str) -> object:
    """Parse a YAML text. Raises `ValueError`."""
    if line_nested_too_deeply(written) is not None:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        found: object = yaml.load(written, Loader=_Loader)  # noqa: S506 - the C form of the safe loader
    except yaml.YAMLError as malformed:
        raise ValueError(_first_line(malformed)) from malformed
    return found


def _first_line(malformed: yaml.YAMLError) -> str:
    return str(getattr(malformed, "problem", None) or malformed).splitlines()[0]
