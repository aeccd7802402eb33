"""YAML that accompanies an engine's objects: Helm values and configurations, with notes for the operator."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from apportion_compiler.backends.generated import GENERATED
from apportion_policy.evaluation.sanitized_text import comment_lines

_WIDTH = 120


class Block(str):
    """Text that is written as a block scalar."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes `Block`."""


def _represent_block(dumper: yaml.SafeDumper, text: Block) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")


_Dumper.add_representer(Block, _represent_block)


def yaml_text(value: object) -> str:
    """Return a value as YAML, keys in their order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_WIDTH)


def yaml_document(notes: Iterable[str], value: object) -> str:
    """Return a complete file: the notes as comments, the generator header, and the value."""
    return comment_lines((*notes, GENERATED)) + yaml_text(value)
