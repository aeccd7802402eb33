"""The objects that a stack has applied: kept as a stack output, and read before the next update."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_compiler.plain_objects import Manifest

OUTPUT = "applied"
"""Name of the stack output. Its value is encoded text, because only the next update reads it."""
_VERSION = 1
_UNKNOWN_DEPTH = 12
"""Depth of a stack whose state does not record one."""


@dataclass(frozen=True, slots=True)
class AppliedTarget:
    """The objects of a target in apply order, and whether the update that applied them is complete."""

    objects: tuple[Manifest, ...] = ()
    is_settled: bool = True


@dataclass(frozen=True, slots=True)
class AppliedState:
    """The applied objects by `cluster/target`, and the maximum number of queues above an object."""

    targets: Mapping[str, AppliedTarget] = field(default_factory=dict)
    depth: int = 0


def dump(applied: AppliedState) -> str:
    """Serialize as text: compressed JSON in base64."""
    document = {
        "version": _VERSION,
        "depth": applied.depth,
        "targets": {
            name: {"settled": target.is_settled, "objects": list(target.objects)}
            for name, target in applied.targets.items()
        },
    }
    # No timestamp is included, so that equal objects give equal text.
    packed = zlib.compress(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(), 9)
    return base64.b64encode(packed).decode("ascii")


def load(text: str) -> AppliedState:
    """Parse the output of `dump`.

    Raises:
        ValueError: If the text is not valid.
    """
    try:
        document = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
        version, targets, depth = document["version"], document["targets"], int(document.get("depth", _UNKNOWN_DEPTH))
    except (KeyError, TypeError, ValueError, zlib.error) as malformed:
        raise ValueError(f"stack output `{OUTPUT}` was not written by this program: {malformed}") from None
    if version != _VERSION:
        raise ValueError(f"stack output `{OUTPUT}` has version {version}; this program supports version {_VERSION}")
    found = {name: _target(target["objects"], settled=target["settled"]) for name, target in targets.items()}
    return AppliedState(found, depth)


def _target(objects: Sequence[Manifest], *, settled: bool) -> AppliedTarget:
    return AppliedTarget(tuple(objects), settled)
