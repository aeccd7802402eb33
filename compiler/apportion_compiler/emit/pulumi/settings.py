"""What a stack is told by its configuration, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Protocol

from apportion_compiler.emit.tree import RETAINED_KINDS
from apportion_compiler.packaged_scheduler import SchedulerDeployment
from apportion_compiler.rollout.hazards import HAZARDS

NAMESPACE = "apportion"
"""The namespace of the keys: `apportion:policy`."""
_PROTECTS = ("none", "guaranteed")
_MODES = ("apply", "render")
_ENFORCEMENTS = ("none", "advisory", "mandatory")


class SettingsError(ValueError):
    """A key that is missing or holds what it cannot: one clause without a full stop."""


class Config(Protocol):
    """What is read of Pulumi's configuration."""

    def get(self, key: str) -> str | None:
        """Return a key's text."""

    def get_object(self, key: str) -> Any:
        """Return a key's structure."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How a cluster is reached: a kubeconfig (a path or its content) and a context in it; None is the default."""

    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class StackSettings:
    """A stack's configuration.

    Attributes:
        policy: File or folder of the policy.
        environment: Which of its environments.
        targets: Only these targets; all where there is none.
        as_of: The day that decides which overrides hold; None where the caller's clock does.
        clusters: How clusters are reached, by name.
        protect: `guaranteed` protects queues that are promised something, and what holds them.
        retains: Kinds whose objects stay on the cluster when they leave the policy or the stack is destroyed.
        adopt: Names of resources that exist and are imported; `*` means all.
        transformation: `module:function` that Pulumi calls for every resource.
        mode: `apply` to clusters, or `render` to files.
        out: Folder of the rendered trees.
        node_pools: For each cluster whose pools the stack makes, what the documents ask to be supplied.
        enforcement: What a violation of the policy pack means: `none` asks no pack, `advisory` says it, `mandatory`
            stops the update.
        guard: Whether hurtful changes (`rollout/hazards.py`) stop an update unless they are allowed.
        allow: The kinds of hurtful changes that are allowed.
        schedulers: How the packaged scheduler runs, for each cluster that has it.
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
    """Return a stack's settings; the environment is named as the stack where nothing is said.

    Raises:
        SettingsError: If a key holds what it cannot.
    """
    policy = config.get("policy")
    if policy is None:
        raise SettingsError(f"{NAMESPACE}:policy must be set to the policy's file or folder")
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
    unknown = [name for name in allowed if name not in HAZARDS]
    if unknown:
        raise SettingsError(f"{NAMESPACE}:allow must be {' or '.join(HAZARDS)}, not {unknown[0]}")
    return allowed


def _names(config: Config, key: str) -> tuple[str, ...]:
    """Return a list of names, which may be written with commas as one text."""
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
            raise SettingsError(f"{NAMESPACE}:clusters must set the kubeconfig or context of each cluster, or both")
        access[name] = ClusterAccess(how.get("kubeconfig"), how.get("context"))
    return access


def _packaged(cluster: str, how: object) -> SchedulerDeployment:
    key = f"{NAMESPACE}:schedulers of {cluster}"
    if not isinstance(how, Mapping) or not isinstance(how.get("image"), str):
        raise SettingsError(f"{key} must set the image, and may set replicas, namespace, scheduler and shard")
    known = {f.name for f in fields(SchedulerDeployment)}
    if unknown := sorted(set(how) - known):
        raise SettingsError(f"{key} has {unknown[0]}, which is not one of {', '.join(sorted(known))}")
    if not isinstance(how.get("replicas", 1), int):
        raise SettingsError(f"{key}: replicas must be an integer")
    return SchedulerDeployment(**how)


def _node_pools(config: Config) -> dict[str, Mapping[str, Any]]:
    found = _object(config, "nodePools")
    if not all(isinstance(supplied, Mapping) for supplied in found.values()):
        raise SettingsError(f"{NAMESPACE}:nodePools must contain the arguments for the node pools of each cluster")
    return found


def _object(config: Config, key: str) -> dict[str, Any]:
    found = config.get_object(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SettingsError(f"{NAMESPACE}:{key} must have an entry for each cluster")
    return found
