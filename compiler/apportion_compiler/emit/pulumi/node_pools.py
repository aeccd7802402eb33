"""Node pools as resources of cloud providers, for clusters whose node pools the stack manages.

The documents of the target `node-pools` are passed on unchanged; values that no policy contains, such as a cluster's id
or a subnet, come from `apportion:nodePools`. Karpenter's pools are objects of the cluster and registered as such.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import pulumi

from apportion_compiler.backends.nodepools import NAME, documents
from apportion_compiler.backends.nodepools.document import Document
from apportion_compiler.compile import Compilation
from apportion_compiler.emit.pulumi.settings import NAMESPACE, StackSettings
from apportion_compiler.emit.pulumi.stack_targets import Refused
from apportion_compiler.emit.pulumi.unapplied_settings import CLUSTERS


def register_node_pools(compilation: Compilation, settings: StackSettings) -> list[pulumi.Resource]:
    """Register the pools of the clusters in the settings.

    Raises:
        Refused: If a required value is not set, or the cloud's package is not installed.
    """
    made: list[pulumi.Resource] = []
    for target, program in compilation.programs.items():
        if target.backend != NAME or target.cluster not in settings.node_pools:
            continue
        templates: list[pulumi.Resource] = []
        for document in documents(program):
            if document.type in CLUSTERS:
                continue
            pool = _register(target.cluster, document, settings.node_pools[target.cluster], templates)
            # A node group references its launch template, which is registered before it.
            templates += [pool] if document.type.endswith(":LaunchTemplate") else []
            made.append(pool)
    return made


def _register(
    cluster: str, document: Document, supplied: Mapping[str, Any], templates: Sequence[pulumi.Resource]
) -> pulumi.Resource:
    own = supplied.get(document.name)
    known = {**supplied, **(own if isinstance(own, Mapping) else {})}
    missing = [name for name in document.supply if name not in known]
    if missing:
        raise Refused(f"{NAMESPACE}:nodePools must set {', '.join(missing)} for {document.name} on {cluster}")
    options = pulumi.ResourceOptions(
        ignore_changes=[_engines_path(path) for path in document.ignore_changes],
        protect=True,
        depends_on=list(templates),
    )
    arguments = {**document.args, **{name: known[name] for name in document.supply}}
    resource: pulumi.Resource = _class_of(document)(f"{cluster}/{document.name}", opts=options, **arguments)
    return resource


def _engines_path(path: str) -> str:
    """Return an argument path in the engine's spelling; Pulumi's library converts only paths with a single name."""
    return re.sub("_([a-z])", lambda found: found[1].upper(), path)


def _class_of(document: Document) -> Any:
    package, module, name = document.type.split(":")
    try:
        return getattr(import_module(f"pulumi_{package}.{module.split('/')[0]}"), name)
    except ImportError:
        # The extras are named after Pulumi's packages.
        raise Refused(f"{document.name} requires pulumi_{package}: pip install 'apportion[{package}]'") from None
