"""The quota tree and the queues of a cluster, as job admission reads them; an invalid object is reported, not fatal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_api.ack.names import QUEUE_ARGS_ANNOTATION, QUEUE_NAMESPACE, TREE_NAMESPACE
from apportion_runtime.admission.objects import Manifest, annotations_of, name_of, namespace_of
from apportion_runtime.kube.job_resources import QUEUE, TREE
from apportion_runtime.kube_queue.job_queue import QueueSettings, read_queue
from apportion_runtime.kube_queue.queues import is_queue, settings
from apportion_runtime.kube_queue.tree import Quota, Tree, TreeError, read_tree
from apportion_runtime.kube_queue.unsupported_settings import unsupported_settings
from apportion_runtime.snapshots.faults import UNREADABLE, Fault


@dataclass(frozen=True, slots=True)
class QueueConfiguration:
    """The configuration of job admission.

    Attributes:
        tree: The quotas; None if there is no valid tree, so that no job may be released.
        queues: The settings of each queue.
        objects: The Queue objects.
        missing: Queue objects for the quotas without one.
        faults: The invalid objects, and the settings that are ignored.
    """

    tree: Tree | None
    queues: Sequence[QueueSettings] = ()
    objects: Sequence[Manifest] = ()
    missing: Sequence[Mapping[str, Any]] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def quotas(self) -> Mapping[str, Quota]:
        """The quotas by path."""
        return {} if self.tree is None else self.tree.quotas


def read_configuration(trees: Iterable[Manifest], queues: Iterable[Manifest]) -> QueueConfiguration:
    """Return the configuration that the ElasticQuotaTrees and Queues of a cluster make.

    A Queue with invalid settings has the default ones.
    """
    found = sorted((one for one in trees if namespace_of(one) == TREE_NAMESPACE), key=name_of)
    if len(found) != 1:
        names = ", ".join(map(name_of, found))
        how_many = f"found {len(found)} ({names})" if found else "found none"
        return _without_tree(f"{TREE} in namespace {TREE_NAMESPACE}", f"expected one, {how_many}")
    try:
        tree = read_tree(found[0])
    except TreeError as wrong:
        return _without_tree(f"{TREE} {TREE_NAMESPACE}/{name_of(found[0])}", str(wrong))
    readable: list[Manifest] = []
    faults = [
        Fault(
            UNREADABLE,
            f"{TREE} {TREE_NAMESPACE}/{name_of(found[0])}",
            f"namespace {namespace} is listed in {', '.join(paths)}; jobs without a quota label belong to {paths[-1]}",
            "",
        )
        for namespace, paths in tree.shared_namespaces.items()
    ]
    for one in filter(is_queue, queues):
        try:
            read_queue(one)
        except ValueError as wrong:
            address = f"{QUEUE} {QUEUE_NAMESPACE}/{name_of(one)}"
            faults.append(
                Fault(UNREADABLE, address, f"{wrong}; the queue uses the default settings until this is fixed", "")
            )
            readable.append(_with_defaults(one))
        else:
            readable.append(one)
    namespaces = {TREE: TREE_NAMESPACE, QUEUE: QUEUE_NAMESPACE}
    faults += [
        Fault(UNREADABLE, f"{each.kind} {namespaces[each.kind]}/{each.name}", f"{each.what}; it is ignored", "")
        for each in unsupported_settings(found[0], readable)
    ]
    known, missing = settings(tree, readable)
    by_name = tuple(known[name] for name in sorted(known))
    return QueueConfiguration(tree, by_name, tuple(readable), tuple(missing), tuple(faults))


def _without_tree(address: str, why: str) -> QueueConfiguration:
    return QueueConfiguration(None, faults=(Fault(UNREADABLE, address, f"{why}; no jobs are released", ""),))


def _with_defaults(queue: Manifest) -> dict[str, Any]:
    """Return a Queue of the same quota, without settings."""
    kept = {key: value for key, value in annotations_of(queue).items() if key != QUEUE_ARGS_ANNOTATION}
    metadata = {"name": name_of(queue), "namespace": namespace_of(queue), "annotations": kept}
    return {"apiVersion": queue["apiVersion"], "kind": QUEUE, "metadata": metadata}
