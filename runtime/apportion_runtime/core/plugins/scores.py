"""The weights of scores: one of a higher rank outweighs all below it.

Source: pkg/scheduler/plugins/scores/scores.go.
"""

from __future__ import annotations

MAX_HIGH_DENSITY = 9.0
RESOURCE_TYPE = 10.0
NUMA = 100.0
AVAILABILITY = 1000.0
GPU_SHARING = 10_000.0
TOPOLOGY = 100_000.0
POD_AFFINITY = 1_000_000.0
NOMINATED_NODE = 10_000_000.0
