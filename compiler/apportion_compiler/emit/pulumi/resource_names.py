"""Types, names and URNs of resources. A name derives from immutable properties of an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apportion_compiler.compile import Target
from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.identity import Identity, identity_of

TARGET_TYPE = "apportion:index:Target"
QUEUE_TYPE = "apportion:index:Queue"
SCHEDULER_TYPE = "apportion:index:Scheduler"


def target_name(target: Target) -> str:
    """Return the name of a target's component. The environment is that of the stack."""
    return f"{target.cluster}/{target.backend}"


def scheduler_name(cluster: str) -> str:
    """Return the name of the component of a cluster's packaged scheduler."""
    return f"{cluster}/scheduler"


def queue_name(target: Target, queue_id: str) -> str:
    """Return the name of a queue's component."""
    return f"{target_name(target)}/{queue_id}"


def resource_name(target: Target, identity: Identity) -> str:
    """Return the name of an object's resource, unique in its stack."""
    parts = [target_name(target), identity.kind, identity.namespace, identity.name]
    return "/".join(part for part in parts if part)


def resource_type(manifest: Manifest) -> str:
    """Return Pulumi's type for a Kubernetes object."""
    version = str(manifest["apiVersion"])
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"


def import_id(manifest: Manifest) -> str:
    """Return the id by which Pulumi's Kubernetes provider imports an object."""
    identity = identity_of(manifest)
    return f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name


def former_urns(stack: str, project: str, type_: str, name: str, depths: Iterable[int]) -> Iterator[str]:
    """Yield the URNs that an object would have at other depths of the tree.

    A URN contains the types of its ancestors, and so its depth. Without these aliases, an object whose team moves up or
    down in the tree would be created again and then deleted under its old URN.

    Args:
        stack: The stack's name.
        project: The project's name.
        type_: The object's type.
        name: Its resource's name.
        depths: Possible numbers of queues above it.
    """
    for depth in depths:
        chain = "$".join((TARGET_TYPE, *[QUEUE_TYPE] * depth, type_))
        yield f"urn:pulumi:{stack}::{project}::{chain}::{name}"


def is_ours(urn: str) -> bool:
    """Return whether the resource of a URN belongs to a component of this program rather than to one of the user."""
    return urn.split("::")[2].split("$", maxsplit=1)[0] in (TARGET_TYPE, SCHEDULER_TYPE)


def depth_of(urn: str) -> int:
    """Return the number of queues above the resource of a URN."""
    return urn.split("::")[2].count(QUEUE_TYPE)
