"""The running pods of a cluster, grouped by the objects that own them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.plain_objects import Manifest, integer, items, labels_of, mapping, name_of, text
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_runtime.snapshots.pod_requests import GPUS, pod_requests

UNKNOWN_MODEL = "gpu"
"""The model of GPUs on a node without a model label."""
_ENDED = ("Succeeded", "Failed")
_OF_NODES = frozenset(("DaemonSet", "Node"))


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """Kind, namespace and name of an object."""

    namespace: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class OwnedPods:
    """The running pods of a topmost owner, or a pod without owners. `owners` are all objects in between."""

    owner: Owner
    owners: frozenset[Owner]
    pods: tuple[Manifest, ...]

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of its first pod."""
        return labels_of(self.pods[0])

    @property
    def priority(self) -> int:
        """The highest priority of its pods, 0 without one."""
        return max(integer(pod, "spec", "priority") or 0 for pod in self.pods)

    @property
    def priority_class(self) -> str:
        """Priority class of its first pod."""
        return text(self.pods[0], "spec", "priorityClassName") or ""


def running_pods(objects: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield the pods that are assigned to a node, have not ended, and are not being deleted."""
    for pod in of_group(objects, "", "Pod"):
        is_leaving = text(pod, "metadata", "deletionTimestamp") is not None
        has_ended = text(pod, "status", "phase") in _ENDED
        if text(pod, "spec", "nodeName") and not has_ended and not is_leaving:
            yield pod


def pending_pods(objects: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield the pods that are pending."""
    for pod in of_group(objects, "", "Pod"):
        if not text(pod, "spec", "nodeName") and text(pod, "status", "phase") not in _ENDED:
            yield pod


def owned_pods(objects: Sequence[Manifest]) -> list[OwnedPods]:
    """Return the running pods by topmost owner, in order of namespace and name, without those of DaemonSets.

    Owner references are followed through the given objects.
    """
    known = {_identity(each): each for each in objects if mapping(each, "metadata").get("ownerReferences")}
    pods: dict[Owner, list[Manifest]] = {}
    chains: dict[Owner, set[Owner]] = {}
    for pod in running_pods(objects):
        chain = list(_owners(pod, known))
        if any(owner.kind in _OF_NODES for owner in chain):
            continue
        pods.setdefault(chain[-1], []).append(pod)
        chains.setdefault(chain[-1], set()).update(chain)
    return [OwnedPods(owner, frozenset(chains[owner]), tuple(pods[owner])) for owner in sorted(pods)]


def _owners(pod: Manifest, known: Mapping[Owner, Manifest]) -> Iterator[Owner]:
    """Yield the pod and its controllers, the topmost last."""
    at: Manifest | None = pod
    identity = _identity(pod)
    seen: set[Owner] = set()
    while identity not in seen:
        seen.add(identity)
        yield identity
        references = [] if at is None else [mapping(each) for each in items(at, "metadata", "ownerReferences")]
        if not references:
            return
        reference = next((each for each in references if each.get("controller")), references[0])
        kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
        identity = Owner("" if kind == "Node" else identity.namespace, name, kind)
        at = known.get(identity)


def _identity(manifest: Manifest) -> Owner:
    return Owner(text(manifest, "metadata", "namespace") or "", name_of(manifest), str(manifest.get("kind") or ""))


def of_group(objects: Iterable[Manifest], group: str, kind: str) -> Iterator[Manifest]:
    """Yield the objects of a kind in any version of an API group."""
    for made in objects:
        if made.get("kind") == kind and str(made.get("apiVersion") or "").rpartition("/")[0] == group:
            yield made


def models_of_nodes(objects: Iterable[Manifest]) -> dict[str, str]:
    """Return the GPU model of each node with a model label."""
    return {
        name_of(node): labels_of(node)[GPU_MODEL_LABEL]
        for node in of_group(objects, "", "Node")
        if GPU_MODEL_LABEL in labels_of(node)
    }


def gpus_of(pods: Iterable[Manifest], models: Mapping[str, str]) -> dict[str, int]:
    """Return the GPUs of running pods in thousandths, by the model of their node."""
    found: dict[str, int] = {}
    for pod in pods:
        amount = sum(requests_of(pod).get(name, 0) for name in GPUS)
        if amount:
            model = models.get(text(pod, "spec", "nodeName") or "", UNKNOWN_MODEL)
            found[model] = found.get(model, 0) + 1000 * amount
    return found


def requests_of(pod: Manifest) -> dict[str, int]:
    """Return a pod's requests; empty if its quantities are invalid."""
    try:
        return pod_requests(mapping(pod, "spec"))
    except ValueError:
        return {}
