"""The parts of a policy that a stack does not apply: cluster settings, node pools, and configuration of engines.

A stack creates neither the cluster nor its engines, so these parts are left to the tools that do. The log of every
update and the stack's output `notApplied` list them by file of the rendered tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from apportion_api.counted_nouns import agreeing
from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.nodepools import NAME, documents
from apportion_compiler.backends.nodepools.gke import CLUSTER_TYPE
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.ir.program import Program
from apportion_policy.providers import Fixed

CLUSTERS = frozenset({CLUSTER_TYPE})
"""Cluster settings that pools require.

A stack that does not manage the cluster cannot declare them: that would create another cluster.
"""
_OF_CLUSTER = {
    "maintenance_policy": "maintenance windows and exclusions",
    "cluster_autoscaling": "node auto-provisioning",
}


@dataclass(frozen=True, slots=True)
class Unapplied:
    """A file of a target's tree, its content, and the tool that applies it."""

    cluster: str
    file: str
    what: str
    cure: str

    @property
    def text(self) -> str:
        """Format as one line."""
        return f"{self.cluster}: this stack does not apply {self.what} ({self.file}): {self.cure}"

    def document(self) -> dict[str, str]:
        """Return the value for the stack's output."""
        return {"cluster": self.cluster, "file": self.file, "what": self.what, "cure": self.cure}


def unapplied(compilation: Compilation, pools_of: Collection[str]) -> tuple[Unapplied, ...]:
    """Return the parts that the stack does not apply; `pools_of` are the clusters whose node pools it manages."""
    found: list[Unapplied] = []
    for target, program in compilation.programs.items():
        if target.backend == NAME:
            found += _of_pools(target, program, makes_pools=target.cluster in pools_of)
        else:
            found += _of_engine(target)
    return tuple(found)


def _of_pools(target: Target, program: Program, *, makes_pools: bool) -> Iterator[Unapplied]:
    for document in documents(program):
        if document.type in CLUSTERS:
            for argument in document.args:
                yield Unapplied(
                    target.cluster,
                    f"{NAME}/{document.folder}/{document.name}.yaml",
                    f"the cluster's {_OF_CLUSTER.get(argument, argument)}",
                    f"set `{argument}` in the cluster's declaration, or run {NAME}/{document.folder}/apply.sh",
                )
    pools = [pool.id for pool in program.pools if not isinstance(pool.settings, Fixed)]
    if pools and not makes_pools:
        yield Unapplied(
            target.cluster,
            f"{NAME}/",
            f"{agreeing(len(pools), 'node pool', 'node pools')} {', '.join(pools)}",
            f"add {target.cluster} to `nodePools` in the stack's configuration, or create the pools separately",
        )


def _of_engine(target: Target) -> Iterator[Unapplied]:
    backend = BACKENDS.get(target.backend)
    for condition in () if backend is None else backend.conditions:
        features = ", ".join(feature.value for feature in condition.features)
        yield Unapplied(
            target.cluster,
            f"{target.backend}/{condition.file}",
            f"the configuration required for {features}",
            f"make sure that it {condition.applied}",
        )
