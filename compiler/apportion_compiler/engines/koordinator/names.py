"""Annotations of what is emitted for Koordinator; `apportion_api.koordinator.names` has those that Koordinator reads."""

from __future__ import annotations

from apportion_compiler.backends.metadata import GROUP

STAND_IN_ANNOTATION = f"{GROUP}/unlimited"
"""Resources, comma separated, of which the quota is promised everything, so that its `min` stands for that."""
WEIGHT_UNIT_ANNOTATION = f"{GROUP}/weight-unit"
"""What 1 in the shared weight is, where it is not a weight of 1: Koordinator counts weights whole."""
TOPOLOGY_ANNOTATION = f"{GROUP}/topology"
"""The policy's name of the topology."""
