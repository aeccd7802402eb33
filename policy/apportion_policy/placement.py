"""Placement of workloads on nodes, and network topologies."""

from __future__ import annotations

from enum import Enum

from pydantic import Field

from apportion_policy.declaration import Declaration
from apportion_policy.identifiers import Identifier


class PlacementStrategy(str, Enum):
    """Bin-pack nodes, or spread workloads evenly."""

    BINPACK = "binpack"
    SPREAD = "spread"


BINPACK = PlacementStrategy.BINPACK
SPREAD = PlacementStrategy.SPREAD


class Placement(Declaration):
    """Bin-pack or spread, for workloads with and without GPUs."""

    gpu: PlacementStrategy = Field(default=BINPACK, description="For workloads that request GPUs.")
    cpu: PlacementStrategy = Field(default=BINPACK, description="For workloads without GPUs.")


class Topology(Declaration):
    """Network levels, widest first; each is the key of a node label."""

    name: Identifier = Field(description="Name by which node pools reference it.")
    levels: tuple[str, ...] = Field(
        min_length=1,
        max_length=16,
        description="Node label keys, from the highest topology level to the lowest; kubernetes.io/hostname must be last.",
    )

    @property
    def identity(self) -> str:
        """The name."""
        return self.name
