"""The configuration that is simulated: the queues, placement rules and limits of the partition `default`.

What the simulation does not decide is rejected: child templates, quota preemption, backoff of unschedulable requests,
group limits, access lists other than `*`, and placement rules that create queues, filter users or have a fixed queue.

Source: yunikorn-core pkg/common/configs, pkg/scheduler/objects/queue.go (applyConf, UpdateQueueProperties) at be3bb487.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import yaml

from apportion_api.durations import parse_duration
from apportion_api.yunikorn import configuration as written
from apportion_api.yunikorn.config_map import UnreadableConfigError, is_config_map, queues_text
from apportion_api.yunikorn.names import CONFIG_MAP, PARTITION, ROOT_QUEUE
from apportion_api.yunikorn.quantities import parse_quantity
from apportion_api.yunikorn.schema import SCHEDULER_CONFIG, ListOf, MapOf, Scalar, Shape
from apportion_runtime.admission.objects import name_of
from apportion_runtime.engines.yunikorn.amounts import Amounts, is_positive
from apportion_runtime.engines.yunikorn.nodes import BINPACKING, FAIR
from apportion_runtime.engines.yunikorn.placement import PROVIDED, TAG
from apportion_runtime.engines.yunikorn.queues import DEFAULT, DISABLED, FENCE, FIFO, Queue, QueueSettings
from apportion_runtime.engines.yunikorn.queues import FAIR as FAIR_SORT
from apportion_runtime.engines.yunikorn.user_limits import UserLimit
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.snapshots.yaml_bounds import check_bounds

_ANYONE = "*"
_INHERITED = frozenset(("application.sort.policy", "application.sort.priority", "preemption.delay"))
"""Properties that a queue has if its parent does; of `preemption.policy`, only `disabled` is inherited."""
_NOT_SIMULATED = ("application.unschedasks.backoff", "quota.preemption.delay")
_DEFAULT_DELAY_S = 30.0


class ConfigurationError(UnreadableError):
    """An invalid configuration, or one that enables features that are not simulated."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration.

    Attributes:
        root: The root of new queues.
        limits: The limits for users, by the path of the queue.
        rules: The names of the placement rules in order, each with its value.
        node_sort_policy: The order of nodes.
        node_weights: The weight of each resource in that order; None uses the default.
        preempts: Whether preemption is enabled.
    """

    root: Queue
    limits: Mapping[str, Mapping[str, UserLimit]]
    rules: tuple[tuple[str, str], ...]
    node_sort_policy: str
    node_weights: Mapping[str, float] | None
    preempts: bool


def read_configuration(objects: Iterable[Mapping[str, Any]]) -> Configuration:
    """Return the configuration among the objects of a cluster.

    Raises:
        ConfigurationError: If it is missing or invalid, or enables features that are not simulated.
    """
    try:
        texts = {name_of(made): found for made in objects if is_config_map(made) and (found := queues_text(made))}
    except UnreadableConfigError as wrong:
        raise ConfigurationError(f"ConfigMap {CONFIG_MAP}: {wrong.field}: {wrong}") from None
    found = texts.get(CONFIG_MAP) or next(iter(texts.values()), None)
    if found is None:
        raise ConfigurationError(f"ConfigMap {CONFIG_MAP} does not exist or has no queues")
    try:
        return configuration_of(found.text)
    except ConfigurationError as wrong:
        raise ConfigurationError(f"ConfigMap {CONFIG_MAP}: {wrong}") from None


def configuration_of(text: str) -> Configuration:
    """Return the configuration of a `queues.yaml`.

    Raises:
        ConfigurationError: If it is invalid, or enables features that are not simulated.
    """
    try:
        check_bounds(text)
        document = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - reads every scalar as text, and creates no objects.
        decoded = _decoded(document or {}, SCHEDULER_CONFIG, "")
    except (yaml.YAMLError, ValueError) as wrong:
        raise ConfigurationError(str(wrong).replace("\n", " ")) from None
    for partition in written.partitions_of(cast("written.Fields", decoded)):
        if (partition.name or PARTITION) == PARTITION:
            _check_partition(partition)
            return _configuration(partition)
    raise ConfigurationError(f"partition {PARTITION} does not exist")


def _decoded(value: object, shape: Shape, path: str) -> object:
    """Return a value by its type in the schema. Raises `ConfigurationError`."""
    if isinstance(shape, Scalar):
        return _scalar(value, shape, path)
    if isinstance(shape, ListOf):
        if not isinstance(value, list):
            raise ConfigurationError(f"{path} is not a list")
        return [_decoded(each, shape.item(), f"{path}[{n}]") for n, each in enumerate(cast("list[object]", value))]
    if value == "":
        return {}
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path or 'queues.yaml'} is not a mapping")
    fields = cast("dict[str, object]", value)
    if isinstance(shape, MapOf):
        return {key: _decoded(each, shape.value, f"{path}.{key}") for key, each in fields.items()}
    for key in fields:
        if key == "childtemplate":
            raise ConfigurationError(f"{path}.childtemplate is not simulated")
        if key not in shape.fields:
            raise ConfigurationError(f"unknown key {path}.{key}".replace(" .", " "))
    return {key: _decoded(each, shape.fields[key](), f"{path}.{key}" if path else key) for key, each in fields.items()}


def _scalar(value: object, shape: Scalar, path: str) -> object:
    if not isinstance(value, str):
        raise ConfigurationError(f"{path} is not a scalar")
    try:
        match shape.type:
            case "bool":
                return {"true": True, "false": False}[value.lower()]
            case "uint64":
                return int(value)
            case "float64":
                return float(value)
            case _:
                return value
    except (KeyError, ValueError):
        raise ConfigurationError(f"{path}: invalid value `{value[:64]}`") from None


def _check_partition(partition: written.Partition) -> None:
    if partition.quota_preemption:
        raise ConfigurationError(f"{partition.path}.preemption.quotapreemptionenabled is not simulated")
    if partition.node_sort_policy not in ("", FAIR, BINPACKING):
        raise ConfigurationError(f"{partition.path}.nodesortpolicy: unknown type {partition.node_sort_policy}")
    for rule in partition.placement_rules or ():
        if rule.name.lower() not in (TAG, PROVIDED):
            raise ConfigurationError(f"{rule.path}: placement rule {rule.name} is not simulated; use tag or provided")
        if rule.create or rule.parent is not None or rule.filter != written.Filter():
            raise ConfigurationError(f"{rule.path}: the fields create, parent and filter are not simulated")
        if rule.name.lower() == TAG and not rule.value:
            raise ConfigurationError(f"{rule.path}: a tag rule requires a value")


def _configuration(partition: written.Partition) -> Configuration:
    tops = partition.queues or ()
    if len(tops) == 1 and tops[0].name.lower() == ROOT_QUEUE:
        top = tops[0]
    else:
        top = written.Queue(ROOT_QUEUE, parent=True, queues=tops, path=partition.path)
    if partition.limits and not top.limits:
        top = replace(top, limits=partition.limits)
    limits: dict[str, Mapping[str, UserLimit]] = {}
    root = _queue(top, None, {}, limits, is_open=False)
    rules = tuple((rule.name.lower(), rule.value.lower()) for rule in partition.placement_rules or ())
    return Configuration(
        root,
        limits,
        rules or ((PROVIDED, ""),),
        partition.node_sort_policy or FAIR,
        partition.resource_weights,
        partition.preemption is not False,
    )


def _queue(
    queue: written.Queue,
    parent: Queue | None,
    inherited: Mapping[str, str],
    limits: dict[str, Mapping[str, UserLimit]],
    *,
    is_open: bool,
) -> Queue:
    """Return a queue with its descendants; `is_open` is whether everyone may submit to its parent."""
    is_leaf = not (queue.parent or queue.queues or parent is None)
    properties = {**inherited, **(queue.properties or {})}
    for name in _NOT_SIMULATED:
        if properties.get(name, "0") not in ("", "0", "0s"):
            raise ConfigurationError(f"{queue.path}.properties[{name}] is not simulated")
    is_open = is_open or queue.submit_acl.strip() == _ANYONE
    if not is_open and queue.submit_acl.strip():
        raise ConfigurationError(f'{queue.path}.submitacl: access lists other than "*" are not simulated')
    if is_leaf and not is_open:
        raise ConfigurationError(
            f'{queue.path}: no user can submit to the queue; set submitacl: "*" on the queue or an ancestor'
        )
    made = Queue(queue.name.lower(), parent, is_leaf, _settings(queue, properties, is_leaf=is_leaf))
    found = dict(_limits(queue))
    if found:
        limits[made.path] = found
    passed = {key: value for key, value in properties.items() if key in _INHERITED}
    if properties.get("preemption.policy", "").lower() == DISABLED:
        passed["preemption.policy"] = DISABLED
    for child in queue.queues or ():
        _queue(child, made, passed, limits, is_open=is_open)
    return made


def _settings(queue: written.Queue, properties: Mapping[str, str], *, is_leaf: bool) -> QueueSettings:
    # Amounts of a queue named root are ignored at any depth.
    has_amounts = queue.name != ROOT_QUEUE
    sort = properties.get("application.sort.policy", "")
    return QueueSettings(
        guaranteed=_amounts(queue.guaranteed, f"{queue.path}.resources.guaranteed") if has_amounts else None,
        maximum=_amounts(queue.max, f"{queue.path}.resources.max") if has_amounts else None,
        max_applications=queue.max_applications if has_amounts else 0,
        sort_policy=FAIR_SORT if not is_leaf or sort == FAIR_SORT else FIFO,
        sorts_by_priority=properties.get("application.sort.priority", "").lower() != "disabled",
        priority_policy=_one_of(properties.get("priority.policy", ""), FENCE),
        priority_offset=_offset(properties.get("priority.offset", "")),
        preemption_policy=_one_of(properties.get("preemption.policy", ""), FENCE, DISABLED),
        preemption_delay_s=_delay(properties.get("preemption.delay", "")) if is_leaf else _DEFAULT_DELAY_S,
    )


def _amounts(texts: Mapping[str, str] | None, path: str) -> Amounts | None:
    """Return amounts; None if none of them is above zero, which YuniKorn treats as unset."""
    found: dict[str, int] = {}
    for resource, value in (texts or {}).items():
        try:
            found[resource] = parse_quantity(resource, value)
        except ValueError as wrong:
            raise ConfigurationError(f"{path}.{resource}: {wrong}") from None
    return found if is_positive(found) else None


def _limits(queue: written.Queue) -> Iterator[tuple[str, UserLimit]]:
    for limit in queue.limits or ():
        if limit.groups:
            raise ConfigurationError(f"{limit.path}.groups: group limits are not simulated")
        maximum = _amounts(limit.max_resources, f"{limit.path}.maxresources") or {}
        for user in limit.users or ():
            yield user, UserLimit(maximum, limit.max_applications)


# Invalid properties have no effect: YuniKorn logs them.


def _one_of(value: str, *known: str) -> str:
    return value.lower() if value.lower() in known else DEFAULT


def _offset(value: str) -> int:
    try:
        found = int(value)
    except ValueError:
        return 0
    return found if -(2**31) <= found < 2**31 else 0


def _delay(value: str) -> float:
    try:
        found = float(parse_duration(value))
    except ValueError:
        return _DEFAULT_DELAY_S
    return found if found > 0 else _DEFAULT_DELAY_S
