"""Network levels: Volcano's controller creates HyperNodes from nodes with equal labels.

A HyperNode lists its members, which a policy does not contain; the controller discovers them by labels, and keeps them
up to date. A level's tier is its distance from the node: 1 is the lowest.

Source: pkg/controllers/hypernode/discovery/label/label.go at ed72c7c81; since v1.13.
"""

from __future__ import annotations

import hashlib

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_compiler.ir.program import Program

DISCOVERY_SINCE = (1, 13)
_MAX_NAME = 20
"""The controller ignores a topology with a longer name, and reports it only in its log."""
_DIGEST = 8


def topology_types(program: Program) -> dict[str, list[dict[str, str]]]:
    """Return `networkTopologyTypes`: label keys of each topology, widest first.

    The controller always treats the last key as the node itself, so it is always the host name.
    """
    types: dict[str, list[dict[str, str]]] = {}
    for topology in program.topologies:
        levels = [level for level in topology.levels if level != HOSTNAME_LABEL]
        if levels:
            types[_type_name(topology.name)] = [{"nodeLabel": level} for level in (*levels, HOSTNAME_LABEL)]
    return types


def _type_name(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[: _MAX_NAME - _DIGEST - 1]}-{hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]}"
