"""A small cluster on an API server in this process, and what `kubectl apportion` prints about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.unit.runtime.kube.api_server import ApiServer, serving
from tests.unit.runtime.kube.objects import TRAIN, node, pod, pod_group, queue

TREE = (queue("all", None, 8), queue("nlp", "all", 4, 6), queue("vision", "all", 4))


@dataclass(frozen=True, slots=True)
class Told:
    code: int
    out: str
    err: str


Plugin = Callable[..., Told]


def grouped(name: str, queue_: str, gpus: int, on: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a pod and its pod group, which a Job owns."""
    made = pod(name, queue_, gpus, on=on, **{"pod-group-name": f"pg-{name}"})
    group = pod_group(f"pg-{name}", queue_, 1)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"{name}-job", "uid": f"uid-{name}-job"}
    group["metadata"]["ownerReferences"] = [owner]
    return made, group


def queue_with(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    """Return a queue with a guarantee of a GPU, and other fields of its spec."""
    made = queue(name, parent, 1)
    made["spec"].update(spec)
    return made


def small_cluster() -> ApiServer:
    """Return a node with eight GPUs, three queues, and three jobs, one of which is pending."""
    server = ApiServer()
    server.add(node("n1", 8), TRAIN, *TREE)
    server.add(*grouped("bert", "nlp", 4, "n1"), *grouped("gpt", "nlp", 2, "n1"), *grouped("late", "nlp", 1))
    return server


@contextmanager
def kubeconfig_of(server: ApiServer, file: Path) -> Iterator[Path]:
    """Serve a cluster, and yield a kubeconfig for it."""
    with serving(server) as connect:
        host = connect("").configuration.host
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": host}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        file.write_text(yaml.safe_dump(document), encoding="utf-8")
        yield file
