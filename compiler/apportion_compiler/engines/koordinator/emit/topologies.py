"""ClusterNetworkTopology (scheduling.koordinator.sh/v1alpha1): one for a cluster, whose name is always `default`."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.koordinator.names import NODE_LAYER, TOPOLOGY_API, TOPOLOGY_NAME
from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.engines.koordinator.names import TOPOLOGY_ANNOTATION
from apportion_compiler.ir.program import Program, Topology


def topologies(program: Program) -> Iterator[Manifest]:
    """Yield the only topology that the scheduler reads."""
    for topology in program.topologies[:1]:
        yield {
            "apiVersion": TOPOLOGY_API,
            "kind": "ClusterNetworkTopology",
            "metadata": metadata(
                program, TOPOLOGY_NAME, topology.source, annotations={TOPOLOGY_ANNOTATION: topology.name}
            ),
            "spec": {"networkTopologySpec": list(_layers(topology))},
        }


def _layers(topology: Topology) -> Iterator[dict[str, object]]:
    """Yield a layer for each level, named by its label, and the nodes' layer at the bottom."""
    above: dict[str, object] = {}
    for level in topology.levels:
        if level != HOSTNAME_LABEL:
            yield {"topologyLayer": level, "labelKey": [level], **above}
            above = {"parentTopologyLayer": level}
    yield {"topologyLayer": NODE_LAYER, **above}
