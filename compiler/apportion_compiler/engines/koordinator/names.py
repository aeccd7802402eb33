"""Annotations that are emitted for Koordinator; `apportion_api.koordinator.names` has those that it reads."""

from __future__ import annotations

from apportion_compiler.backends.metadata import GROUP

STAND_IN_ANNOTATION = f"{GROUP}/unlimited"
"""Comma-separated resources with an UNLIMITED guarantee, for which `min` is a substitute."""
WEIGHT_UNIT_ANNOTATION = f"{GROUP}/weight-unit"
"""The unit of the shared weight, if it is not a weight of 1: Koordinator requires integers."""
TOPOLOGY_ANNOTATION = f"{GROUP}/topology"
"""The policy's name of the topology."""
