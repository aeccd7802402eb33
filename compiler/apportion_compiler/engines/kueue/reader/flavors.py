"""ResourceFlavor and Topology: which machines a quota of Kueue's is on, and of which GPU model they are.

A flavor of Apportion's says its model in an annotation where quotas tell models apart. Of others the model is read from
the node labels by which people commonly select GPUs, and from the flavor's name where those say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from apportion_api.kubernetes.names import GPU_PRODUCT_LABEL
from apportion_api.kueue.names import GROUP
from apportion_api.kueue.objects import ResourceFlavor, Topology
from apportion_api.objects import read, read_all
from apportion_compiler.backends.metadata import GROUP as APPORTION
from apportion_compiler.engines.kueue.emit.flavors import (
    HOSTS_TOPOLOGY,
    MODEL_ANNOTATION,
    MODELS_ANNOTATION,
    POOLS_ANNOTATION,
    TOPOLOGY_ANNOTATION,
)
from apportion_compiler.engines.kueue.reader.adoption import free_id
from apportion_compiler.kubernetes_names import suggested_name
from apportion_compiler.plain_objects import annotations_of, of_kind, text
from apportion_compiler.pool_label_keys import GKE_ACCELERATOR_LABEL, GPU_MODEL_LABEL, KARPENTER_GPU_LABEL
from apportion_compiler.readers.objects import is_ours
from apportion_compiler.readers.record import Manifest, Note, PoolRecord, TopologyRecord
from apportion_policy.gpu_model import GPU_MODEL_PATTERN
from apportion_policy.resources import CPU, MEMORY

_MODEL = re.compile(GPU_MODEL_PATTERN)
_MODEL_LABELS = (
    GPU_MODEL_LABEL,
    GPU_PRODUCT_LABEL,
    GKE_ACCELERATOR_LABEL,
    KARPENTER_GPU_LABEL,
    "aliyun.accelerator/nvidia_name",
    "gpu.nvidia.com/class",
)
_MAKER = re.compile(r"^(?:nvidia|tesla|amd|geforce|rtx)[-_ ]+", re.IGNORECASE)
_KNOWN = re.compile(r"(?<![a-z0-9])((?:gb|[abhlptv])[0-9]{1,3}[a-z]?)(?![a-z0-9])")
_MAX_MODEL = 40
ORDINARY = "ordinary"
"""The pool of the machines that no flavor describes."""


@dataclass(frozen=True, slots=True)
class FlavorFacts:
    """What a flavor stands for: pools, each with its GPU model.

    `counted` is the model that quotas on it count; None where they tell none apart.
    """

    pools: tuple[tuple[str, str | None], ...]
    counted: str | None


def flavor_facts(manifests: Sequence[Manifest], on_gpus: Sequence[str]) -> Mapping[str, FlavorFacts]:
    """Return what each flavor stands for; `on_gpus` are those that have quotas of GPUs, whether described or not."""
    found: dict[str, FlavorFacts] = {}
    for manifest in of_kind(manifests, GROUP, "ResourceFlavor"):
        flavor, notes = read(ResourceFlavor, manifest), annotations_of(manifest)
        name = flavor.name
        if is_ours(manifest):
            pools, models = (notes.get(key, "").split(",") for key in (POOLS_ANNOTATION, MODELS_ANNOTATION))
            pairs = ((pool, model or None) for pool, model in zip_longest(pools, models) if pool)
            found[name] = FlavorFacts(tuple(pairs), notes.get(MODEL_ANNOTATION))
        else:
            model = _model(flavor) if name in on_gpus else None
            # A flavor without labels is every node, and no pool.
            taken = {pool for facts in found.values() for pool, _ in facts.pools}
            found[name] = FlavorFacts(((free_id(name, taken), model),) if flavor.labels else (), model)
    for name in on_gpus:
        found.setdefault(name, FlavorFacts(((suggested_name(name) or name, _cleaned(name)),), _cleaned(name)))
    # A cluster with one model has no need to tell it apart.
    if len({facts.counted for facts in found.values() if facts.counted is not None}) < 2:
        found = {name: FlavorFacts(facts.pools, None) for name, facts in found.items()}
    return found


Capacities = Mapping[str, Mapping[str, int]]
"""By a flavor's name, what all quotas on it add up to, in the IR's units, without what has no bound."""


def pools_of(
    manifests: Sequence[Manifest],
    facts: Mapping[str, FlavorFacts],
    topologies: Mapping[str, str],
    plans: Mapping[str, str],
    *,
    capacities: Capacities,
    beyond: Collection[str],
) -> Iterator[PoolRecord]:
    """Yield the pools that flavors stand for.

    A flavor without labels is every node, and no pool. Where it has more than is promised (`beyond`), machines are known
    to be there, and what it counts beside the others' GPUs becomes a pool of ordinary ones.
    """
    for manifest in of_kind(manifests, GROUP, "ResourceFlavor"):
        flavor = read(ResourceFlavor, manifest)
        name, labels = flavor.name, flavor.labels
        of_flavor, capacity = facts[name], capacities.get(name, {})
        if not labels and not annotations_of(manifest).get(POOLS_ANNOTATION):
            if name in beyond and any(capacity.get(resource) for resource in (CPU, MEMORY)):
                yield PoolRecord(ORDINARY, taints=tuple(_taints(flavor)), capacity=capacity)
            continue
        first = of_flavor.pools[0][0] if of_flavor.pools else None
        for pool, model in of_flavor.pools:
            yield PoolRecord(
                id=pool,
                gpu_model=model,
                capacity=capacity if pool == first else {},
                shared=None if pool == first else first,
                labels={key: value for key, value in labels.items() if not key.startswith(f"{APPORTION}/")},
                taints=tuple(_taints(flavor)),
                topology=topologies.get(flavor.topology or ""),
                plan=plans.get(name),
            )


def lifted_topologies(manifests: Sequence[Manifest]) -> Mapping[str, TopologyRecord]:
    """Return the topologies by their objects' names, without the one that Apportion makes for the others' sake."""
    found: dict[str, TopologyRecord] = {}
    for manifest in of_kind(manifests, GROUP, "Topology"):
        topology = read(Topology, manifest)
        name = annotations_of(manifest).get(TOPOLOGY_ANNOTATION, topology.name)
        levels = tuple(filter(None, topology.labels))
        if levels and name != HOSTS_TOPOLOGY:
            found[topology.name] = TopologyRecord(name, levels)
    return found


def flavor_notes(manifests: Sequence[Manifest]) -> Iterator[Note]:
    """Yield notes on what flavors say that a policy has no word for."""
    for flavor in read_all(ResourceFlavor, manifests):
        for toleration in flavor.tolerations:
            if not toleration.get("key"):
                yield Note(str(flavor), "tolerates every taint: declare the taints of its pool")


def _taints(flavor: ResourceFlavor) -> Iterator[tuple[str, str | None, str]]:
    """Yield the taints of the nodes: those that are named, and those that are tolerated for everybody."""
    seen: set[tuple[str, str | None, str]] = set()
    for held in (*flavor.taints, *flavor.tolerations):
        key = text(held, "key")
        if key is not None:
            taint = (key, text(held, "value"), text(held, "effect") or "NoSchedule")
            if taint not in seen:
                seen.add(taint)
                yield taint


def _model(flavor: ResourceFlavor) -> str:
    for key in _MODEL_LABELS:
        if value := flavor.labels.get(key):
            return value if key == GPU_MODEL_LABEL and _MODEL.fullmatch(value) else _cleaned(value)
    return _cleaned(flavor.name)


def _cleaned(name: str) -> str:
    """Return a model's short name: `h100` of `NVIDIA-H100-80GB-HBM3`, otherwise the text as far as a model can hold it."""
    bare = _MAKER.sub("", name.lower())
    known = _KNOWN.search(bare)
    if known is not None:
        return known[1]
    cleaned = re.sub(r"[^a-z0-9.-]+", "-", bare).strip("-.")[:_MAX_MODEL].strip("-.") or "gpu"
    return cleaned if _MODEL.fullmatch(cleaned) else "gpu"
