"""Node pools: the machines of a cluster, as resources of their providers.

An additional target without queues. It sets the labels that the engine's objects select by (`pool_labels.py`). GKE, ACK
and EKS have no Kubernetes object for a pool, so each pool gets a document with the arguments of Pulumi's resource, and
an equivalent script for the provider's command-line tool; Karpenter's NodePool and EC2NodeClass are objects. Existing
machines (`Fixed`) are not created: the target `native` documents how to label them.

Settings without a field: docs/backends/node-pools.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.capability import Artifact, Companion, Output
from apportion_compiler.backends.nodepools import ack, eks, gke, karpenter
from apportion_compiler.backends.nodepools.ack import ack_script
from apportion_compiler.backends.nodepools.document import Document, artifact
from apportion_compiler.backends.nodepools.eks_script import eks_script
from apportion_compiler.backends.nodepools.gke_script import gke_script
from apportion_compiler.ir.program import Program
from apportion_policy.providers import Ack, Eks, Gke, Karpenter

NAME = "node-pools"


def emit(program: Program) -> Output:
    """Return Karpenter's objects, node classes first, and the other providers' documents and scripts."""
    pools = [(pool, pool.settings) for pool in program.pools if isinstance(pool.settings, Karpenter)]
    return Output(
        (
            *karpenter.node_classes(program, pools),
            *(karpenter.node_pool(program, pool, settings) for pool, settings in pools),
        ),
        (*(artifact(document) for document in documents(program)), *_scripts(program)),
    )


def documents(program: Program) -> Iterator[Document]:
    """Yield the resources of the cloud providers, for a stack to declare."""
    yield from gke.documents(program, _gke(program))
    yield from ack.documents(program, _ack(program))
    yield from eks.documents(program, _eks(program))


def _scripts(program: Program) -> Iterator[Artifact]:
    if _gke(program):
        yield gke_script(program, _gke(program))
    if _ack(program):
        yield ack_script(program, _ack(program))
    if _eks(program):
        yield eks_script(program, _eks(program))


def _gke(program: Program) -> list[gke.GkePool]:
    return [(pool, pool.settings) for pool in program.pools if isinstance(pool.settings, Gke)]


def _ack(program: Program) -> list[ack.AckPool]:
    return [(pool, pool.settings) for pool in program.pools if isinstance(pool.settings, Ack)]


def _eks(program: Program) -> list[eks.EksPool]:
    return [(pool, pool.settings) for pool in program.pools if isinstance(pool.settings, Eks)]


COMPANION = Companion(NAME, emit)
