"""ResourceFlavor and Topology: the machines of a quota, and their GPU model.

An emitted flavor has its model in an annotation if quotas distinguish models. For others, the model is derived from
common node labels of GPUs, or else from the flavor's name.
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
"""The pool of machines without a flavor."""


@dataclass(frozen=True, slots=True)
class FlavorFacts:
    """The pools of a flavor, each with its GPU model.

    `counted` is the model that its quotas count; None if they do not distinguish between GPU models.
    """

    pools: tuple[tuple[str, str | None], ...]
    counted: str | None


def flavor_facts(manifests: Sequence[Manifest], on_gpus: Sequence[str]) -> Mapping[str, FlavorFacts]:
    """Return the pools of each flavor; `on_gpus` are flavors with GPU quotas, whether defined or not."""
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
            # A flavor without labels matches every node, and is not a pool.
            taken = {pool for facts in found.values() for pool, _ in facts.pools}
            found[name] = FlavorFacts(((free_id(name, taken), model),) if flavor.labels else (), model)
    for name in on_gpus:
        found.setdefault(name, FlavorFacts(((suggested_name(name) or name, _cleaned(name)),), _cleaned(name)))
    # A cluster with a single model does not have to distinguish it.
    if len({facts.counted for facts in found.values() if facts.counted is not None}) < 2:
        found = {name: FlavorFacts(facts.pools, None) for name, facts in found.items()}
    return found


Capacities = Mapping[str, Mapping[str, int]]
"""The sum of all quotas by flavor name, in the IR's units, without unlimited ones."""


def pools_of(
    manifests: Sequence[Manifest],
    facts: Mapping[str, FlavorFacts],
    topologies: Mapping[str, str],
    plans: Mapping[str, str],
    *,
    capacities: Capacities,
    beyond: Collection[str],
) -> Iterator[PoolRecord]:
    """Yield the pools of flavors.

    A flavor without labels matches every node, and is not a pool. If it has more than all guarantees (`beyond`), its
    machines are known to exist, and its resources besides the others' GPUs become an ordinary pool.
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
    """Return the topologies by object name, without the one that Apportion generates."""
    found: dict[str, TopologyRecord] = {}
    for manifest in of_kind(manifests, GROUP, "Topology"):
        topology = read(Topology, manifest)
        name = annotations_of(manifest).get(TOPOLOGY_ANNOTATION, topology.name)
        levels = tuple(filter(None, topology.labels))
        if levels and name != HOSTS_TOPOLOGY:
            found[topology.name] = TopologyRecord(name, levels)
    return found


def flavor_notes(manifests: Sequence[Manifest]) -> Iterator[Note]:
    """Yield notes on fields of flavors that a policy does not support."""
    for flavor in read_all(ResourceFlavor, manifests):
        for toleration in flavor.tolerations:
            if not toleration.get("key"):
                yield Note(str(flavor), "tolerates every taint: declare its pool's taints")


def _taints(flavor: ResourceFlavor) -> Iterator[tuple[str, str | None, str]]:
    """Yield the taints of the nodes, including those that the flavor tolerates for all workloads."""
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
    """Return a model's short name, such as `h100` for `NVIDIA-H100-80GB-HBM3`, or else the text as a valid name."""
    bare = _MAKER.sub("", name.lower())
    known = _KNOWN.search(bare)
    if known is not None:
        return known[1]
    cleaned = re.sub(r"[^a-z0-9.-]+", "-", bare).strip("-.")[:_MAX_MODEL].strip("-.") or "gpu"
    return cleaned if _MODEL.fullmatch(cleaned) else "gpu"
