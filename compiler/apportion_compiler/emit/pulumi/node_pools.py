"""Node pools as resources of their clouds, for clusters of which the stack is asked to make them.

The documents of the target `node-pools` are handed over as they are; what no policy knows, such as a cluster's id or
a subnet, comes from `apportion:nodePools`. Karpenter's pools are objects of the cluster and registered as such.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pulumi

from apportion_compiler.backends.nodepools import NAME, documents
from apportion_compiler.backends.nodepools.document import Document
from apportion_compiler.compile import Compilation
from apportion_compiler.emit.pulumi.reading import Refused
from apportion_compiler.emit.pulumi.settings import NAMESPACE, StackSettings


def register_node_pools(compilation: Compilation, settings: StackSettings) -> list[pulumi.Resource]:
    """Register the pools of the clusters that the settings name; none of any other.

    Raises:
        Refused: If a coordinate is not supplied, or the cloud's package is not installed.
    """
    made: list[pulumi.Resource] = []
    for target, program in compilation.programs.items():
        if target.backend == NAME and target.cluster in settings.node_pools:
            supplied = settings.node_pools[target.cluster]
            made += [_register(target.cluster, document, supplied) for document in documents(program)]
    return made


def _register(cluster: str, document: Document, supplied: Any) -> pulumi.Resource:
    missing = [name for name in document.supply if name not in supplied]
    if missing:
        raise Refused(f"{NAMESPACE}:nodePools of {cluster} does not supply {', '.join(missing)} for {document.name}")
    options = pulumi.ResourceOptions(ignore_changes=list(document.ignore_changes), protect=True)
    arguments = {**document.args, **{name: supplied[name] for name in document.supply}}
    resource: pulumi.Resource = _class_of(document)(f"{cluster}/{document.name}", opts=options, **arguments)
    return resource


def _class_of(document: Document) -> Any:
    package, module, name = document.type.split(":")
    try:
        return getattr(import_module(f"pulumi_{package}.{module.split('/')[0]}"), name)
    except ImportError:
        extra = {"gcp": "gcp", "aws": "aws", "alicloud": "alicloud"}[package]
        raise Refused(f"{document.name} needs pulumi_{package}: pip install 'apportion[{extra}]'") from None
