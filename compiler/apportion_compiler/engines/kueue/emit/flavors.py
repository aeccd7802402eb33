"""ResourceFlavor: the machines on which an amount is counted.

Kueue assigns all resources of a resource group to the same flavor, independently for each group. So cpu, memory and
other resources are counted on one flavor without labels, `any-node`, and GPUs on separate flavors: totals are not
divided, and a pod is bound only to the nodes of its GPUs. With a topology, all requests of a pod must come from one
flavor (pkg/scheduler/flavorassigner/tas_flavorassigner.go), so every flavor counts every resource, and amounts without
a model are divided among them.

Pools share a flavor unless they must be distinguished: by a counted GPU model, a provisioning plan, a topology, or the
queues that may use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_api.kueue.names import API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import GROUP, metadata
from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.engines.kueue.emit.flavor_labels import distinguishing_labels, flavor_labels
from apportion_compiler.ir.gpu_models import counted_models
from apportion_compiler.ir.program import NodePool, Program, Queue, Taint, Topology
from apportion_compiler.kubernetes_names import label_value, object_name, versioned_name
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL

ANY_NODE = "any-node"
POOLS_ANNOTATION = f"{GROUP}/pools"
"""On a flavor: its node pools, comma-separated."""
MODELS_ANNOTATION = f"{GROUP}/gpu-models"
"""On a flavor: the GPU model of each of its pools, in the same order."""
MODEL_ANNOTATION = f"{GROUP}/gpu-model"
"""On a flavor: the GPU model that its quotas count, if quotas are per model."""
TOPOLOGY_ANNOTATION = f"{GROUP}/topology"
"""On a Topology and its flavors: the topology's name in the policy."""
HOSTS_TOPOLOGY = f"{GROUP}/hosts"
"""A topology of one level, for flavors that need one because other flavors have one."""
_MAX_TOLERATIONS = 8


@dataclass(frozen=True, slots=True)
class Flavor:
    """A set of machines with a quota. Without pools, it is all machines. `model` is None for several models."""

    name: str
    pools: tuple[NodePool, ...]
    model: str | None
    labels: Mapping[str, str]
    tolerations: tuple[dict[str, str], ...]
    topology: Topology | None
    plan: str | None

    @property
    def has_gpus(self) -> bool:
        """Whether its machines have or may have GPUs."""
        return not self.pools or any(pool.n_gpus for pool in self.pools)

    @property
    def preference_rank(self) -> tuple[bool, bool]:
        """The rank by which other flavors are preferred: provisioned machines, and those that can be reclaimed."""
        return self.plan is not None, any(pool.spot for pool in self.pools)

    def is_usable_by(self, queue: Queue) -> bool:
        """Return whether a queue may use its machines."""
        return not self.pools or any(pool.id in queue.pools for pool in self.pools)


@dataclass(frozen=True, slots=True)
class Layout:
    """The flavors of a cluster.

    `by_model`: each GPU flavor has a single model. `joined`: every flavor counts every resource, and `everywhere` is
    None; otherwise `everywhere` counts all resources except GPUs, and also GPUs if `gpus` is empty.
    """

    everywhere: Flavor | None
    gpus: tuple[Flavor, ...]
    ordinary: tuple[Flavor, ...]
    by_model: bool

    @property
    def joined(self) -> bool:
        """Whether every flavor counts every resource."""
        return self.everywhere is None

    @property
    def flavors(self) -> tuple[Flavor, ...]:
        """All flavors, in the order in which Kueue tries them: workloads without GPUs avoid machines with GPUs."""
        return (*(() if self.everywhere is None else (self.everywhere,)), *self.ordinary, *self.gpus)

    @property
    def gpu_flavors(self) -> tuple[Flavor, ...]:
        """The flavors on which GPUs are counted."""
        return self.gpus if self.gpus or self.everywhere is None else (self.everywhere,)


def layout_of(program: Program) -> Layout:
    """Return the flavors of a cluster."""
    models = counted_models(program)
    topologies = {topology.name: topology for topology in program.topologies}
    with_gpus = [pool for pool in program.pools if pool.n_gpus]
    without = [pool for pool in program.pools if not pool.n_gpus]
    if places_by_topology(program):
        taken: set[str] = set()
        gpus = tuple(_grouped(program, with_gpus, program.pools, models=models, taken=taken, topologies=topologies))
        ordinary = _grouped(program, without, program.pools, models=(), taken=taken, topologies=topologies)
        return Layout(None, _by_choice(gpus), _by_choice(ordinary), bool(models))
    everywhere = Flavor(ANY_NODE, (), None, {}, _tolerations(without), None, None)
    taken = {ANY_NODE}
    if program.pools:
        gpus = tuple(_grouped(program, with_gpus, with_gpus, models=models, taken=taken, topologies={}))
    else:
        gpus = tuple(_unseen(model, taken) for model in models)
    return Layout(everywhere, _by_choice(gpus), (), bool(models))


def places_by_topology(program: Program) -> bool:
    """Return whether flavors have topologies: a pool names one, and no pool of the cluster autoscales.

    With a topology, Kueue admits workloads only to existing nodes, so a pool that scales with pending pods would never
    scale up; one with a provisioning plan does. It applies to all flavors, because a flavor with a topology accepts
    workloads without a topology request only if every flavor of the queue has a topology.
    """
    named = {topology.name for topology in program.topologies}
    steady = all(
        pool.settings.kind == "fixed" or pool.plan is not None or pool.min_nodes == pool.max_nodes
        for pool in program.pools
    )
    return steady and any(pool.topology in named for pool in program.pools)


def resource_flavors(program: Program, layout: Layout) -> Iterator[Manifest]:
    """Yield the ResourceFlavor objects."""
    for flavor in layout.flavors:
        notes = {}
        if flavor.pools:
            notes[POOLS_ANNOTATION] = ",".join(pool.id for pool in flavor.pools)
            if flavor.has_gpus:
                notes[MODELS_ANNOTATION] = ",".join(pool.gpu_model or "" for pool in flavor.pools)
        if layout.by_model and flavor.model is not None:
            notes[MODEL_ANNOTATION] = flavor.model
        spec: dict[str, object] = {}
        if flavor.labels:
            spec["nodeLabels"] = dict(flavor.labels)
        if flavor.tolerations:
            spec["tolerations"] = [dict(toleration) for toleration in flavor.tolerations]
        if flavor.topology is not None:
            spec["topologyName"] = topology_name(flavor.topology)
            notes[TOPOLOGY_ANNOTATION] = flavor.topology.name
        source = flavor.pools[0].source if flavor.pools else program.source
        yield {
            "apiVersion": API,
            "kind": "ResourceFlavor",
            "metadata": metadata(program, flavor.name, source, annotations=notes),
            "spec": spec,
        }


def topologies(program: Program, layout: Layout) -> Iterator[Manifest]:
    """Yield the Topology objects: those of the cluster, and `hosts` if a flavor needs one because others have one."""
    hosts = [flavor.topology for flavor in layout.flavors if flavor.topology is not None and _is_hosts(flavor.topology)]
    for topology in (*program.topologies, *hosts[:1]):
        yield {
            "apiVersion": API,
            "kind": "Topology",
            "metadata": metadata(
                program, topology_name(topology), topology.source, annotations={TOPOLOGY_ANNOTATION: topology.name}
            ),
            "spec": {"levels": [{"nodeLabel": level} for level in topology.levels]},
        }


def topology_name(topology: Topology) -> str:
    """Return the object's name. Levels are immutable, so other levels require another object."""
    return versioned_name(topology.name, "\n".join((topology.name, *topology.levels)))


def _is_hosts(topology: Topology) -> bool:
    return topology.name == HOSTS_TOPOLOGY


def _by_choice(flavors: Iterable[Flavor]) -> tuple[Flavor, ...]:
    return tuple(sorted(flavors, key=lambda flavor: flavor.preference_rank))


def _unseen(model: str, taken: set[str]) -> Flavor:
    """Return the flavor of a model without a declared pool."""
    return Flavor(_name(model, (model,), taken), (), model, {GPU_MODEL_LABEL: label_value(model)}, (), None, None)


Key = tuple[str, str, str, frozenset[tuple[str, ...]]]


def _grouped(
    program: Program,
    pools: Sequence[NodePool],
    among: Sequence[NodePool],
    *,
    models: Sequence[str],
    taken: set[str],
    topologies: Mapping[str, Topology],
) -> Iterator[Flavor]:
    """Yield the flavors of some pools; a selector must distinguish them from those in `among`."""
    allowed = {queue.pools for queue in program.queues if queue.is_leaf}
    groups: dict[Key, list[NodePool]] = {}
    for pool in pools:
        model = str(pool.gpu_model) if models else ""
        users = frozenset(names for names in allowed if pool.id in names)
        groups.setdefault((model, pool.plan or "", pool.topology or "", users), []).append(pool)
    for group in groups.values():
        parts = [group] if _is_selectable(program, group, among, topologies) else [[pool] for pool in group]
        for part in parts:
            yield _flavor(program, part, pools, taken, topologies)


def _is_selectable(
    program: Program, group: Sequence[NodePool], among: Sequence[NodePool], topologies: Mapping[str, Topology]
) -> bool:
    """Return whether one selector matches the pools of a group and no others, within the limits of a flavor."""
    labels = distinguishing_labels(program, group)
    inside = {pool.id for pool in group}
    outside = [node_labels(program, pool) for pool in among if pool.id not in inside]
    is_unique = not any(labels.items() <= other.items() for other in outside)
    return is_unique and bool(labels or not topologies) and len(_taints(group)) <= _MAX_TOLERATIONS


def _flavor(
    program: Program,
    pools: Sequence[NodePool],
    alike: Sequence[NodePool],
    taken: set[str],
    topologies: Mapping[str, Topology],
) -> Flavor:
    models = {pool.gpu_model for pool in pools}
    model = models.pop() if len(models) == 1 else None
    labels = flavor_labels(program, pools)
    # A flavor without labels cannot have one (CEL of the CRD).
    topology = topologies.get(pools[0].topology or "") if labels else None
    if topology is None and topologies and labels:
        # Workloads without a topology request are admitted only if every flavor of their queue has a topology.
        topology = Topology(HOSTS_TOPOLOGY, (HOSTNAME_LABEL,), program.source)
    base = _base_name(pools, alike, model)
    ids = tuple(pool.id for pool in pools)
    name = _name(base, ids, taken)
    if topology is not None:
        name = versioned_name(name, f"{name}\n{topology_name(topology)}")
    return Flavor(name, tuple(pools), model, labels, _tolerations(pools), topology, pools[0].plan)


def _base_name(pools: Sequence[NodePool], alike: Sequence[NodePool], model: str | None) -> str:
    """Return the model if these pools are all pools that have it, so that an additional pool does not change names."""
    if model is not None and sum(pool.gpu_model == model for pool in alike) == len(pools):
        return model
    if len(pools) == 1:
        return pools[0].id
    return model or ("gpu" if pools[0].n_gpus else "ordinary")


def _name(base: str, ids: tuple[str, ...], taken: set[str]) -> str:
    plain = object_name(base)
    # An identity with a slash never fits, so the other form always has a digest.
    name = object_name("/".join((base, *ids))) if plain in taken else plain
    taken.add(name)
    return name


def _taints(pools: Iterable[NodePool]) -> list[Taint]:
    return sorted({taint for pool in pools for taint in pool.taints}, key=lambda t: (t.key, t.value or "", t.effect))


def _tolerations(pools: Iterable[NodePool]) -> tuple[dict[str, str], ...]:
    taints = _taints(pools)
    if len(taints) > _MAX_TOLERATIONS:
        # The labels identify the nodes; a flavor has at most eight.
        return ({"operator": "Exists"},)
    return tuple(
        {"key": taint.key, "operator": "Exists", "effect": taint.effect}
        if taint.value is None
        else {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        for taint in taints
    )
