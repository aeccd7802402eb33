"""A stack's configuration, parsed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Protocol

from apportion_compiler.emit.tree import RETAINED_KINDS
from apportion_compiler.image_reference import pinned_image_fault
from apportion_compiler.packaged_scheduler import SchedulerDeployment
from apportion_compiler.rollout.destructive_changes import DESTRUCTIVE_CHANGES

NAMESPACE = "apportion"
"""The namespace of the keys: `apportion:policy`."""
_PROTECTS = ("none", "guaranteed")
_MODES = ("apply", "render")
_ENFORCEMENTS = ("none", "advisory", "mandatory")


class SettingsError(ValueError):
    """A missing key or an invalid value: one clause without a full stop."""


class Config(Protocol):
    """The part of Pulumi's configuration interface that is used."""

    def get(self, key: str) -> str | None:
        """Return the text value of a key."""

    def get_object(self, key: str) -> Any:
        """Return the structured value of a key."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Access to a cluster: a kubeconfig (a path or its content) and a context in it; None is the default."""

    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class StackSettings:
    """A stack's configuration.

    Attributes:
        policy: File or folder of the policy.
        environment: Name of the environment.
        targets: Only these targets; all if empty.
        as_of: The date that determines the active overrides; None for today.
        clusters: Access to clusters, by name.
        protect: `guaranteed` protects queues with a guarantee, and their namespaces.
        retains: Kinds whose objects stay on the cluster when they are removed from the policy or the stack is
            destroyed.
        adopt: Names of resources that exist and are imported; `*` means all.
        transformation: `module:function` that Pulumi calls for every resource.
        mode: `apply` to clusters, or `render` to files.
        out: Folder of the rendered trees.
        node_pools: For each cluster whose pools the stack manages, the values that the documents require.
        enforcement: Effect of a violation of the policy pack: `none` runs no pack, `advisory` reports it, `mandatory`
            stops the update.
        guard: Whether destructive changes (`rollout/destructive_changes.py`) stop an update unless they are allowed.
        allow: The kinds of destructive changes that are allowed.
        schedulers: Settings of the packaged scheduler, for each cluster that runs it.
    """

    policy: str
    environment: str
    targets: tuple[str, ...] = ()
    as_of: date | None = None
    clusters: Mapping[str, ClusterAccess] = field(default_factory=dict)
    protect: str = "none"
    retains: frozenset[str] = RETAINED_KINDS
    adopt: tuple[str, ...] = ()
    transformation: str | None = None
    mode: str = "apply"
    out: str = "rendered"
    node_pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    enforcement: str = "none"
    guard: bool = False
    allow: tuple[str, ...] = ()
    schedulers: Mapping[str, SchedulerDeployment] = field(default_factory=dict)


def read_settings(config: Config, stack: str) -> StackSettings:
    """Return a stack's settings; the environment defaults to the stack's name.

    Raises:
        SettingsError: If a value is invalid.
    """
    policy = config.get("policy")
    if policy is None:
        raise SettingsError(f"{NAMESPACE}:policy must be set to the path of the policy file or folder")
    return StackSettings(
        policy=policy,
        environment=config.get("environment") or stack,
        targets=_names(config, "targets"),
        as_of=_day(config.get("asOf")),
        clusters=_clusters(config),
        protect=_one_of(config, "protect", _PROTECTS),
        retains=frozenset() if _one_of(config, "deleteNamespaces", ("false", "true")) == "true" else RETAINED_KINDS,
        adopt=_names(config, "import"),
        transformation=config.get("transformation"),
        mode=_one_of(config, "mode", _MODES),
        out=config.get("out") or "rendered",
        node_pools=_node_pools(config),
        enforcement=_one_of(config, "enforcement", _ENFORCEMENTS),
        guard=_one_of(config, "guard", ("false", "true")) == "true",
        allow=_allowed(config),
        schedulers={name: _packaged(name, how) for name, how in _object(config, "schedulers").items()},
    )


def _allowed(config: Config) -> tuple[str, ...]:
    allowed = _names(config, "allow")
    unknown = [name for name in allowed if name not in DESTRUCTIVE_CHANGES]
    if unknown:
        raise SettingsError(f"{NAMESPACE}:allow must contain only {', '.join(DESTRUCTIVE_CHANGES)}, not {unknown[0]}")
    return allowed


def _names(config: Config, key: str) -> tuple[str, ...]:
    """Return a list of names, which may also be text separated by commas."""
    text = config.get(key)
    if text is None:
        return ()
    if not text.lstrip().startswith("["):
        return tuple(name.strip() for name in text.split(",") if name.strip())
    names = config.get_object(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"{NAMESPACE}:{key} must be a list of names")
    return tuple(names)


def _one_of(config: Config, key: str, choices: tuple[str, ...]) -> str:
    value = config.get(key) or choices[0]
    if value not in choices:
        raise SettingsError(f"{NAMESPACE}:{key} must be {' or '.join(choices)}, not {value}")
    return value


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"{NAMESPACE}:asOf must be a date such as 2026-11-21, not {text}") from None


def _clusters(config: Config) -> dict[str, ClusterAccess]:
    found = _object(config, "clusters")
    access: dict[str, ClusterAccess] = {}
    for name, how in found.items():
        if not isinstance(how, Mapping) or not set(how) <= {"kubeconfig", "context"}:
            raise SettingsError(f"{NAMESPACE}:clusters must set kubeconfig, context or both for each cluster")
        access[name] = ClusterAccess(how.get("kubeconfig"), how.get("context"))
    return access


def _packaged(cluster: str, how: object) -> SchedulerDeployment:
    key = f"{NAMESPACE}:schedulers.{cluster}"
    if not isinstance(how, Mapping) or not isinstance(how.get("image"), str):
        raise SettingsError(f"{key} must set image, and may set replicas, namespace, scheduler, shards and reservation")
    # The policy determines the engine.
    known = {f.name for f in fields(SchedulerDeployment)} - {"engine"}
    if unknown := sorted(set(how) - known):
        raise SettingsError(f"{key}: unknown key {unknown[0]}; supported keys are {', '.join(sorted(known))}")
    if (fault := pinned_image_fault(how["image"])) is not None:
        raise SettingsError(f"{key}: image `{how['image']}` is invalid: {fault}")
    if not isinstance(how.get("replicas", 1), int):
        raise SettingsError(f"{key}: replicas must be an integer")
    for name in ("namespace", "scheduler", "reservation"):
        if name in how and not isinstance(how[name], str):
            raise SettingsError(f"{key}: {name} must be a string")
    shards = how.get("shards", [])
    if not isinstance(shards, list) or not all(isinstance(shard, str) for shard in shards):
        raise SettingsError(f"{key}: shards must be a list of SchedulingShard names")
    values: dict[str, Any] = {**how, "shards": tuple(shards)}
    return SchedulerDeployment(**values)


def _node_pools(config: Config) -> dict[str, Mapping[str, Any]]:
    found = _object(config, "nodePools")
    if not all(isinstance(supplied, Mapping) for supplied in found.values()):
        raise SettingsError(f"{NAMESPACE}:nodePools must map each cluster to the arguments for its node pools")
    return found


def _object(config: Config, key: str) -> dict[str, Any]:
    found = config.get_object(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SettingsError(f"{NAMESPACE}:{key} must be an object with cluster names as keys")
    return found
