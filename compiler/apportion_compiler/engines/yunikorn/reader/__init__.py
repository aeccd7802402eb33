"""YuniKorn's configuration: the queues of its partition `default` below `root`, its order of nodes, PriorityClass.

`yunikorn-configs` has precedence over `yunikorn-defaults`. Names are unique only among siblings, and may be invalid as
ids; the id is then derived from the path or respelled, with a note.

Written for core be3bb487 and k8shim 23b6b47f.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from apportion_api.kubernetes.names import GPU_RESOURCE, SCHEDULING_GROUP
from apportion_api.yunikorn.config_map import UnreadableConfigError, is_config_map, queues_text
from apportion_api.yunikorn.configuration import Limit, Partition, PlacementRule, Queue, partitions_of
from apportion_api.yunikorn.names import (
    ALLOW_PREEMPTION_ANNOTATION,
    CONFIG_MAP,
    MEMORY_RESOURCE,
    PARENT_QUEUE_ANNOTATION,
    PARTITION,
    PODS_RESOURCE,
    ROOT_QUEUE,
    VCORE,
)
from apportion_api.yunikorn.quantities import parse_quantity
from apportion_compiler.engines.yunikorn.emit.amounts import NOTHING_ELSE, UNBOUNDED, WHOLE_GPU
from apportion_compiler.engines.yunikorn.emit.queues import (
    ID_PROPERTY,
    LABEL_PROPERTY,
    NAMESPACE_TAG,
    OWNER_PROPERTY,
    TITLE_PROPERTY,
)
from apportion_compiler.engines.yunikorn.emit.tree import MAX_APPLICATIONS
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.queues import root_of, with_limits_on_root, with_root
from apportion_compiler.engines.yunikorn.rules.queues_yaml_decoder import decode
from apportion_compiler.ir.program import UserLimit
from apportion_compiler.kubernetes_names import is_label, suggested_name
from apportion_compiler.plain_objects import annotations_of, described, name_of, of_kind
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.namespaces import bound_namespaces, with_namespaces
from apportion_compiler.readers.objects import is_ours
from apportion_compiler.readers.record import ClusterRecord, ImportRecord, Manifest, Note, QueueRecord, Reader
from apportion_policy.placement import BINPACK, SPREAD
from apportion_policy.quantity import MAX_AMOUNT, UNLIMITED, Amount
from apportion_policy.resources import CPU, GPU, MEMORY

_KEYS: Mapping[str, str] = {VCORE: CPU, MEMORY_RESOURCE: MEMORY, GPU_RESOURCE: GPU}
_WRITTEN = frozenset(("priority.policy", "priority.offset", ID_PROPERTY, TITLE_PROPERTY, OWNER_PROPERTY))
_PLACEMENTS = {"binpacking": BINPACK.value, "fair": SPREAD.value, "": SPREAD.value}
_DEFAULT_PRIORITY = 100


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Import YuniKorn's objects among the manifests.

    Raises:
        ValueError: If the configuration cannot be decoded, or an amount is invalid.
    """
    classes = tuple(priority_classes(manifests, _preemptible(manifests)))
    manifest = _config_map(manifests)
    if manifest is None:
        return ImportRecord((), classes)
    partition, notes = _partition(manifest)
    root = root_of(partition)
    reading = _FileFacts(manifest, is_ours(manifest), _ids(root), _managed(root), notes)
    queues = tuple(_lift(root, reading))
    notes += _partition_notes(partition, root, reading)
    queues = _placed(queues, partition, root, reading, manifests)
    if queues and not any(queue.namespaces for queue in queues) and not bound_namespaces(manifests):
        notes.append(Note("ConfigMap", "set `namespaces` on each leaf to the namespaces that use it"))
    placement = _PLACEMENTS.get(partition.node_sort_policy)
    record = ImportRecord(
        queues,
        classes,
        notes=tuple(dict.fromkeys(notes)),
        cluster=ClusterRecord(gpu_placement=placement, cpu_placement=placement),
    )
    return with_namespaces(record, manifests)


READER = Reader("yunikorn", read)


@dataclass(frozen=True, slots=True)
class _FileFacts:
    """Facts about the whole file.

    Attributes:
        manifest: The ConfigMap.
        ours: Whether Apportion emitted it.
        ids: The id of each queue, by its path.
        managed: The resources with a guarantee in some queue, by the policy's names.
        notes: Notes on values that are not imported.
    """

    manifest: Manifest
    ours: bool
    ids: Mapping[str, str]
    managed: Sequence[str]
    notes: list[Note]

    def at(self, path: str) -> str:
        """Return the name of a queue in messages."""
        return f"{described(self.manifest)} queue {path}"


def _preemptible(manifests: Sequence[Manifest]) -> _Preemptible:
    last = {
        name_of(cls)
        for cls in of_kind(manifests, SCHEDULING_GROUP, "PriorityClass")
        if annotations_of(cls).get(ALLOW_PREEMPTION_ANNOTATION) == "false"
    }
    return _Preemptible(frozenset(last))


@dataclass(frozen=True, slots=True)
class _Preemptible:
    last: frozenset[str]

    def __call__(self, name: str, value: int) -> bool:
        """Return whether workloads of a class are preemptible."""
        return name not in self.last


def _config_map(manifests: Sequence[Manifest]) -> Manifest | None:
    found = {name_of(m): m for m in manifests if is_config_map(m) and _has_queues(m)}
    return found.get(CONFIG_MAP) or next(iter(found.values()), None)


def _has_queues(manifest: Manifest) -> bool:
    try:
        return queues_text(manifest) is not None
    except UnreadableConfigError as unreadable:
        raise ValueError(f"{described(manifest)}: {unreadable.field}: {unreadable}") from None


def _partition(manifest: Manifest) -> tuple[Partition, list[Note]]:
    """Return the partition of all nodes, with its root, and notes on others."""
    notes: list[Note] = []
    found = queues_text(manifest)
    try:
        partitions = partitions_of(decode("" if found is None else found.text))
        default = Partition(PARTITION, queues=())
        for partition in partitions:
            if partition.name.lower() in ("", PARTITION):
                default = partition
            else:
                notes.append(
                    Note(described(manifest), f"partition {partition.name} is skipped: it has no nodes on Kubernetes")
                )
        return with_limits_on_root(with_root(default)), notes
    except ConfigRefusedError as refused:
        raise ValueError(_fault(manifest, refused)) from None


def _fault(manifest: Manifest, refused: ConfigRefusedError) -> str:
    where = f"{described(manifest)}: {refused.path}: " if refused.path else f"{described(manifest)}: "
    return where + refused.message.replace("\n ", "")


def _ids(root: Queue) -> Mapping[str, str]:
    """Return the id of each queue by its path: the one in its properties, else its name, else its path."""
    wanted = {path: _wanted(queue) for path, queue in _walk(root)}
    often: dict[str, int] = {}
    for id_ in wanted.values():
        often[id_] = often.get(id_, 0) + 1
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for path, id_ in wanted.items():
        plain = id_ if often[id_] == 1 else suggested_name(path.removeprefix(f"{ROOT_QUEUE}.")) or "queue"
        free = (f"{plain[:58]}-{number}" for number in count(2))
        chosen = plain if plain not in taken else next(name for name in free if name not in taken)
        taken.add(chosen)
        ids[path] = chosen
    return ids


def _wanted(queue: Queue) -> str:
    noted = (queue.properties or {}).get(ID_PROPERTY)
    if noted:
        return noted
    name = queue.name.lower()
    return name if is_label(name) else suggested_name(name) or "queue"


def _walk(root: Queue) -> Iterator[tuple[str, Queue]]:
    """Yield the queues below root with their paths, parents first."""
    stack = [(f"{ROOT_QUEUE}.{queue.name.lower()}", queue) for queue in reversed(root.queues or ())]
    while stack:
        path, queue = stack.pop()
        yield path, queue
        stack.extend((f"{path}.{child.name.lower()}", child) for child in reversed(queue.queues or ()))


def _managed(root: Queue) -> Sequence[str]:
    named = {name: None for _, queue in _walk(root) for name in queue.guaranteed or {} if name != NOTHING_ELSE}
    return [_KEYS.get(name, name) for name in named]


def _lift(root: Queue, reading: _FileFacts) -> Iterator[QueueRecord]:
    priorities = _priorities(root)
    for path, queue in _walk(root):
        parent = path.rpartition(".")[0]
        properties = queue.properties or {}
        reading.notes.extend(_queue_notes(path, queue, reading))
        guaranteed = _amounts(queue.guaranteed, f"{path}: resources.guaranteed", reading)
        yield QueueRecord(
            id=reading.ids[path],
            object=reading.at(path),
            parent=None if parent == ROOT_QUEUE else reading.ids[parent],
            title=properties.get(TITLE_PROPERTY),
            owner=properties.get(OWNER_PROPERTY),
            # Apportion omits zero guarantees, and a policy would infer them.
            guaranteed={**dict.fromkeys(reading.managed, 0), **guaranteed} if reading.ours else guaranteed,
            limit=_limit(path, queue, reading),
            users=_users(path, queue, reading),
            priority=priorities[path],
            labels={
                key.removeprefix(LABEL_PROPERTY): value
                for key, value in sorted(properties.items())
                if key.startswith(LABEL_PROPERTY)
            },
        )


def _limit(path: str, queue: Queue, reading: _FileFacts) -> Mapping[str, Amount]:
    limit = _amounts(queue.max, f"{path}: resources.max", reading)
    if limit and not any(limit.values()) and NOTHING_ELSE not in (queue.max or {}):
        reading.notes.append(
            Note(reading.at(path), "resources.max is dropped: YuniKorn treats an all-zero maximum as unset")
        )
        return {}
    return limit


def _users(path: str, queue: Queue, reading: _FileFacts) -> tuple[UserLimit, ...]:
    found: list[UserLimit] = []
    for limit in queue.limits or ():
        if limit.groups:
            reading.notes.append(Note(reading.at(path), f"group limits are dropped: {', '.join(limit.groups)}"))
        found += _limits_of_users(path, limit, reading)
    return tuple(sorted(found, key=lambda limit: limit.user))


def _limits_of_users(path: str, limit: Limit, reading: _FileFacts) -> Iterator[UserLimit]:
    amounts = dict(_amounts(limit.max_resources, f"{path}: limits.maxresources", reading))
    jobs = None if limit.max_applications in (0, MAX_APPLICATIONS) else limit.max_applications
    if amounts.get(PODS_RESOURCE) == 0:
        amounts.pop(PODS_RESOURCE)
        jobs = 0
    for user in limit.users or ():
        yield UserLimit(user, amounts, jobs)


def _amounts(written: Mapping[str, str] | None, where: str, reading: _FileFacts) -> Mapping[str, Amount]:
    amounts: dict[str, Amount] = {}
    for name, text in (written or {}).items():
        if name == NOTHING_ELSE:
            continue
        try:
            amount = parse_quantity(name, text)
        except ValueError as refused:
            raise ValueError(f"{described(reading.manifest)}: {where}.{name}: {refused}") from None
        resource = _KEYS.get(name, name)
        scaled = amount * WHOLE_GPU if resource == GPU else amount
        amounts[resource] = UNLIMITED if amount == UNBOUNDED or scaled > MAX_AMOUNT else scaled
    return amounts


def _priorities(root: Queue) -> Mapping[str, int | None]:
    """Return a priority for each queue that differs from a sibling's: only their order has an effect.

    The highest one is the policy's default, or higher by the number of queues below it.
    """
    siblings: dict[str, list[tuple[str, int]]] = {}
    for path, queue in _walk(root):
        siblings.setdefault(path.rpartition(".")[0], []).append((path, _offset(queue)))
    priorities: dict[str, int | None] = {}
    for group in siblings.values():
        order = sorted({offset for _, offset in group}, reverse=True)
        highest = max(_DEFAULT_PRIORITY, len(order))
        for path, offset in group:
            priority = highest - order.index(offset)
            priorities[path] = None if priority == _DEFAULT_PRIORITY else priority
    return priorities


def _offset(queue: Queue) -> int:
    text = (queue.properties or {}).get("priority.offset", "0")
    digits = text.removeprefix("-").removeprefix("+")
    # A value that is not a 32-bit number is ignored, which leaves none.
    number = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else 0
    return number if -(2**31) <= number < 2**31 else 0


def _queue_notes(path: str, queue: Queue, reading: _FileFacts) -> Iterator[Note]:
    at = reading.at(path)
    id_ = reading.ids[path]
    if ID_PROPERTY not in (queue.properties or {}) and id_ != queue.name.lower():
        yield Note(at, f"imported with id {id_}")
    if queue.max_applications:
        yield Note(at, "`maxapplications` is dropped: a policy limits jobs only per user")
    for acl, field in ((queue.admin_acl, "adminacl"), (queue.submit_acl, "submitacl")):
        if acl.strip() not in ("", "*"):
            yield Note(at, f"`{field}` is dropped: namespaces determine who may use a queue")
    if queue.parent and not queue.queues:
        yield Note(at, "imported as a leaf, because its child queues are created dynamically")
    for key in queue.properties or {}:
        known = key in _WRITTEN or key.startswith(LABEL_PROPERTY)
        if not known and not (reading.ours and key == "preemption.policy"):
            yield Note(at, f"property {key} is dropped")


def _partition_notes(partition: Partition, root: Queue, reading: _FileFacts) -> Iterator[Note]:
    at = described(reading.manifest)
    if partition.preemption is False:
        yield Note(
            at,
            "preemption is disabled, so guaranteed capacity in use elsewhere is never reclaimed; the policy enables preemption",
        )
    if partition.resource_weights:
        yield Note(at, "`nodesortpolicy.resourceweights` is dropped")
    if root.limits:
        yield Note(at, "the root queue's limits are dropped: set limits on its children")
    if not reading.ours and any(_tag(rule) is None for rule in partition.placement_rules or ()):
        yield Note(at, "placement rules are dropped: namespaces determine where workloads run")


def _placed(
    queues: tuple[QueueRecord, ...],
    partition: Partition,
    root: Queue,
    reading: _FileFacts,
    manifests: Sequence[Manifest],
) -> tuple[QueueRecord, ...]:
    """Return the queues with the namespaces that a placement rule assigns to them."""
    tags = {_tag(rule) for rule in partition.placement_rules or ()}
    leaves = {path for path, queue in _walk(root) if not queue.queues}
    placed: dict[str, list[str]] = {}
    for namespace in of_kind(manifests, "", "Namespace"):
        named = annotations_of(namespace).get(PARENT_QUEUE_ANNOTATION, "").lower()
        for path in (named, f"{named}.{name_of(namespace)}"):
            if path in leaves and NAMESPACE_TAG in tags:
                placed.setdefault(reading.ids[path], []).append(name_of(namespace))
    if "namespace" in tags:
        for path in leaves:
            above, _, name = path.rpartition(".")
            if above == ROOT_QUEUE and is_label(name) and reading.ids[path] not in placed:
                placed[reading.ids[path]] = [name]
    return tuple(
        replace(queue, namespaces=tuple(sorted(set(placed[queue.id])))) if queue.id in placed else queue
        for queue in queues
    )


def _tag(rule: PlacementRule) -> str | None:
    """Return the tag of a placement rule, if it is the namespace or one of its annotations."""
    value = rule.value.lower()
    return value if rule.name.lower() == "tag" and value in ("namespace", NAMESPACE_TAG) else None
