"""Types, names and URNs of resources. A name is made of what never changes of an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apportion_compiler.compile import Target
from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.identity import Identity, identity_of

TARGET_TYPE = "apportion:index:Target"
QUEUE_TYPE = "apportion:index:Queue"
SCHEDULER_TYPE = "apportion:index:Scheduler"


def target_name(target: Target) -> str:
    """Return the name of a target's component. The environment is the stack's own."""
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
    """Return Pulumi's type of a Kubernetes object."""
    version = str(manifest["apiVersion"])
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"


def import_id(manifest: Manifest) -> str:
    """Return the id under which Pulumi's Kubernetes provider finds an object."""
    identity = identity_of(manifest)
    return f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name


def former_urns(stack: str, project: str, type_: str, name: str, depths: Iterable[int]) -> Iterator[str]:
    """Yield the URNs that an object would have at other depths of the tree.

    A URN holds the types of what it hangs below, and so the depth. An object whose team moves up or down is the same
    object; taken for another, it would be made anew and then deleted under its old URN.

    Args:
        stack: The stack's name.
        project: The project's name.
        type_: The object's type.
        name: Its resource's name.
        depths: Below how many queues it can have been.
    """
    for depth in depths:
        chain = "$".join((TARGET_TYPE, *[QUEUE_TYPE] * depth, type_))
        yield f"urn:pulumi:{stack}::{project}::{chain}::{name}"


def is_ours(urn: str) -> bool:
    """Tell whether the resource of a URN hangs below a component of this program, and not of a user's own."""
    return urn.split("::")[2].split("$", maxsplit=1)[0] in (TARGET_TYPE, SCHEDULER_TYPE)


def depth_of(urn: str) -> int:
    """Return how many queues the resource of a URN hangs below."""
    return urn.split("::")[2].count(QUEUE_TYPE)
