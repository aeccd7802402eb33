"""The ConfigMap that YuniKorn reads and watches: its queues, and the namespaces of its admission controller.

An object can have one mebibyte. Larger configurations are compressed, which YuniKorn reads under the same key with the
suffix `.gz` (k8shim 23b6b47f, pkg/conf/schedulerconf.go, Decompress).
"""

from __future__ import annotations

import base64
import gzip

from apportion_api.yunikorn.names import (
    COMPRESSED_QUEUES_KEY,
    CONFIG_MAP,
    PROCESS_NAMESPACES_KEY,
    QUEUES_KEY,
    SYSTEM_NAMESPACE,
)
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.engines.yunikorn.emit.document import document
from apportion_compiler.engines.yunikorn.emit.queues import scheduler_config
from apportion_compiler.ir.once_per_program import once_per_program
from apportion_compiler.ir.program import Program

MAX_BYTES = 900_000
"""Kubernetes' limit is 1,048,576; the remainder is for metadata and for fields of other managers."""

NO_NAMESPACE = "^$"
"""A pattern that no namespace name matches: namespaces of the policy are annotated individually."""


def config_map(program: Program) -> Manifest:
    """Return the ConfigMap."""
    text = queues_text(program)
    packed = len(text.encode("utf-8", "replace")) > MAX_BYTES
    data = {PROCESS_NAMESPACES_KEY: NO_NAMESPACE}
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(program, CONFIG_MAP, program.source, namespace=SYSTEM_NAMESPACE),
        "data": data if packed else {**data, QUEUES_KEY: text},
    }
    if packed:
        manifest["binaryData"] = {COMPRESSED_QUEUES_KEY: base64.b64encode(compressed_queues(program)).decode("ascii")}
    return manifest


@once_per_program
def queues_text(program: Program) -> str:
    """Return `queues.yaml`."""
    notes = [
        f"Queues for {program.environment}/{program.cluster}, compiled from the policy; edit the policy instead.",
        "YuniKorn rejects the whole file if it contains an error, and keeps its previous configuration.",
    ]
    return document(scheduler_config(program), notes)


@once_per_program
def compressed_queues(program: Program) -> bytes:
    """Return `queues.yaml` compressed by gzip, deterministically."""
    return gzip.compress(queues_text(program).encode("utf-8", "replace"), mtime=0)
