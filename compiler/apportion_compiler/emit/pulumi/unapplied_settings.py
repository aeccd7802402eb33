"""What of a policy a stack does not apply: settings of the cluster itself, node pools, and configuration of engines.

A stack makes neither the cluster nor its engines, so that part of the rendered tree is for whoever does. Each is named
in the log of every update and in the stack's output `notApplied`, by the file of the tree that says it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.nodepools import NAME, documents
from apportion_compiler.backends.nodepools.gke import CLUSTER_TYPE
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.ir.program import Program
from apportion_policy.providers import Fixed

CLUSTERS = frozenset({CLUSTER_TYPE})
"""What pools ask of a cluster is not for a stack that does not make the cluster: to declare it would make another."""
_OF_CLUSTER = {
    "maintenance_policy": "maintenance windows and exclusions",
    "cluster_autoscaling": "node auto-provisioning",
}


@dataclass(frozen=True, slots=True)
class Unapplied:
    """A file of a target's tree, what it says, and what applies it."""

    cluster: str
    file: str
    what: str
    cure: str

    @property
    def text(self) -> str:
        """All of it as one line."""
        return f"{self.cluster}: this stack does not apply {self.what} ({self.file}): {self.cure}"

    def document(self) -> dict[str, str]:
        """Return it as an output of the stack."""
        return {"cluster": self.cluster, "file": self.file, "what": self.what, "cure": self.cure}


def unapplied(compilation: Compilation, pools_of: Collection[str]) -> tuple[Unapplied, ...]:
    """Return what the stack leaves to others; `pools_of` are the clusters whose node pools it makes."""
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
                    f"{_OF_CLUSTER.get(argument, argument)} of the cluster",
                    f"declare `{argument}` in the declaration of the cluster, or run {NAME}/{document.folder}/apply.sh",
                )
    pools = [pool.id for pool in program.pools if not isinstance(pool.settings, Fixed)]
    if pools and not makes_pools:
        yield Unapplied(
            target.cluster,
            f"{NAME}/",
            f"the node pools {', '.join(pools)}",
            f"add {target.cluster} to `nodePools` in the stack's configuration, or create the pools by other means",
        )


def _of_engine(target: Target) -> Iterator[Unapplied]:
    backend = BACKENDS.get(target.backend)
    for condition in () if backend is None else backend.conditions:
        features = ", ".join(feature.value for feature in condition.features)
        yield Unapplied(
            target.cluster,
            f"{target.backend}/{condition.file}",
            f"the configuration that {features} require",
            f"make sure that it {condition.applied}",
        )
