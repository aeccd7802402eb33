"""What a stack has applied: kept as one of its outputs, and read back before the next update."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_compiler.plain_objects import Manifest

OUTPUT = "applied"
"""The stack output that holds it: text, because it is for the next update and not for people."""
_VERSION = 1
_UNKNOWN_DEPTH = 12
"""Of a stack that was last applied before its depth was kept."""


@dataclass(frozen=True, slots=True)
class AppliedTarget:
    """A target's objects in apply order, and whether the update that applied them was settled."""

    objects: tuple[Manifest, ...] = ()
    is_settled: bool = True


@dataclass(frozen=True, slots=True)
class AppliedState:
    """What was applied, by `cluster/target`, and below how many queues at most an object was."""

    targets: Mapping[str, AppliedTarget] = field(default_factory=dict)
    depth: int = 0


def dump(applied: AppliedState) -> str:
    """Return it as text: compressed JSON in base64."""
    document = {
        "version": _VERSION,
        "depth": applied.depth,
        "targets": {
            name: {"settled": target.is_settled, "objects": list(target.objects)}
            for name, target in applied.targets.items()
        },
    }
    # No time of day goes into the bytes, so the same objects are the same text.
    packed = zlib.compress(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(), 9)
    return base64.b64encode(packed).decode("ascii")


def load(text: str) -> AppliedState:
    """Return what `dump` wrote.

    Raises:
        ValueError: If the text is none of its.
    """
    try:
        document = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
        version, targets, depth = document["version"], document["targets"], int(document.get("depth", _UNKNOWN_DEPTH))
    except (KeyError, TypeError, ValueError, zlib.error) as malformed:
        raise ValueError(f"the output `{OUTPUT}` of the stack was not written by this program: {malformed}") from None
    if version != _VERSION:
        raise ValueError(f"the output `{OUTPUT}` of the stack has version {version}; this program supports {_VERSION}")
    found = {name: _target(target["objects"], settled=target["settled"]) for name, target in targets.items()}
    return AppliedState(found, depth)


def _target(objects: Sequence[Manifest], *, settled: bool) -> AppliedTarget:
    return AppliedTarget(tuple(objects), settled)
