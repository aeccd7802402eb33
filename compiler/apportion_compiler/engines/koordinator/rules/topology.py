"""The webhook's rules on a quota in relation to others (quota_topology.go and quota_topology_check.go)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.koordinator.names import (
    IS_PARENT_LABEL,
    NAMESPACES_ANNOTATION,
    PARENT_LABEL,
    QUEUE_LABEL,
    ROOT_QUOTA,
    TREE_ID_LABEL,
)
from apportion_api.koordinator.objects import ElasticQuotaProfile
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.koordinator.rules.quota import Quota
from apportion_compiler.plain_objects import labels_of

_PARENT_FIELD = f"metadata.labels[{PARENT_LABEL}]"
_TREE_FIELD = f"metadata.labels[{TREE_ID_LABEL}]"
_KEYS = "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: "


@dataclass(frozen=True, slots=True)
class _Site:
    by_name: Mapping[str, Quota]
    roots: Mapping[str, ElasticQuotaProfile]
    """Profiles by the name of the quota that Koordinator creates for each; its `min` is the size of the nodes."""
    children: Mapping[str, list[Quota]]


def topology_verdicts(
    quotas: Sequence[Quota],
    before: Mapping[tuple[str, str], Quota],
    profiles: Sequence[ElasticQuotaProfile],
    pods: Sequence[tuple[str, Manifest]],
) -> Iterator[Verdict]:
    """Yield the rejected quotas among the manifests.

    Args:
        quotas: All quotas after the update.
        before: The existing quotas, by namespace and name.
        profiles: Profiles, for which Koordinator creates the tree roots.
        pods: Existing pods, with their namespaces.
    """
    yield from _unique(quotas)
    children: dict[str, list[Quota]] = {}
    for quota in quotas:
        children.setdefault(quota.parent, []).append(quota)
    context = _Site(
        {quota.name: quota for quota in reversed(quotas)},
        {profile.quota or "": profile for profile in profiles},
        children,
    )
    for quota in quotas:
        if quota.index is not None and quota.name != ROOT_QUOTA:
            old = before.get(quota.key)
            if old is not None:
                yield from _changed(quota, old, before, pods)
            yield from _placed(quota, context)
    for name, below in children.items():
        yield from _sums(context.by_name.get(name), below)


def _unique(quotas: Sequence[Quota]) -> Iterator[Verdict]:
    # Existing objects take precedence.
    in_order = sorted(quotas, key=lambda quota: quota.index is not None)
    names: dict[str, Quota] = {}
    bound: dict[str, Quota] = {}
    for quota in in_order:
        if quota.name in names and quota.index is not None:
            message = f"AddQuota quota already exist:{quota.name}"
            cure = "use a name that is unique across namespaces"
            yield quota.rejected("metadata.name", "Duplicate", message, cure)
        names.setdefault(quota.name, quota)
        for namespace in quota.namespaces:
            other = bound.setdefault(namespace, quota)
            if other.name != quota.name and quota.index is not None:
                message = (
                    f"AddQuota quota {quota.name}'s annotation namespace {namespace} is already bound to quota "
                    f"{other.name}"
                )
                field = f"metadata.annotations[{NAMESPACES_ANNOTATION}]"
                yield quota.rejected(field, "Duplicate", message, "remove the namespace from one of the quotas")


def _changed(
    quota: Quota, old: Quota, before: Mapping[tuple[str, str], Quota], pods: Sequence[tuple[str, Manifest]]
) -> Iterator[Verdict]:
    field = f"metadata.labels[{IS_PARENT_LABEL}]"
    if old.is_parent and not quota.is_parent and any(other.parent == quota.name for other in before.values()):
        message = f"quota has children, isParent is forbidden to modify as false, quotaName:{quota.name}"
        yield quota.rejected(field, "Forbidden", message, "delete or move the children first")
    if quota.is_parent and not old.is_parent and any(_is_bound(pod, space, old) for space, pod in pods):
        message = f"quota has bound pods, isParent is forbidden to modify as true, quotaName: {quota.name}"
        yield quota.rejected(field, "Forbidden", message, "wait until the quota has no pods")
    if old.tree_id != quota.tree_id:
        message = f"{quota.name} tree id changed [{old.tree_id}] vs [{quota.tree_id}]"
        yield quota.rejected(
            _TREE_FIELD, "Forbidden", message, "create a quota with a different name in the other tree"
        )


def _is_bound(pod: Manifest, namespace: str, quota: Quota) -> bool:
    return labels_of(pod).get(QUEUE_LABEL) == quota.name or namespace in (quota.name, *quota.namespaces)


def _placed(quota: Quota, context: _Site) -> Iterator[Verdict]:
    if quota.parent == ROOT_QUOTA:
        return
    parent, root = context.by_name.get(quota.parent), context.roots.get(quota.parent)
    if parent is None and root is None:
        message = f"{quota.name} has parentName {quota.parent} but not find parentInfo in quotaInfoMap"
        yield quota.rejected(_PARENT_FIELD, "NotFound", message, "create the parent first, or use an existing parent")
        return
    if parent is not None and _is_below_itself(quota, context):
        message = f"{quota.name} is its own ancestor, so its parent cannot be created first"
        yield quota.rejected(_PARENT_FIELD, "Invalid", message, "use a different parent")
        return
    is_parent = parent.is_parent if parent is not None else root is not None and root.is_parent
    if not is_parent:
        message = f"{quota.name} has parentName {quota.parent} but the parentQuotaInfo's IsParent is false"
        yield quota.rejected(
            _PARENT_FIELD, "Invalid", message, f'set the label {IS_PARENT_LABEL}: "true" on the parent'
        )
    tree_id = parent.tree_id if parent is not None else root.tree_id if root is not None else ""
    # On creation, a quota without the label gets that of its parent.
    if quota.tree_id not in ("", tree_id):
        message = f"{quota.name} tree id is different from parent {quota.parent}, [{quota.tree_id}] vs [{tree_id}]"
        yield quota.rejected(_TREE_FIELD, "Invalid", message, "use the parent's tree id")
    keys = parent.max_keys if parent is not None else root.resources if root is not None else frozenset[str]()
    if keys != quota.max_keys:
        message = f"{_KEYS}{quota.parent}'s max keys are not the same with {quota.name}'s"
        cure = f"set {', '.join(sorted(keys | quota.max_keys))} in the max of both quotas"
        yield quota.rejected("spec.max", "Invalid", message, cure)
    guaranteed = parent.min_keys if parent is not None else keys
    if not quota.min_keys <= guaranteed:
        message = f"{_KEYS}{quota.name}'s min keys are not all included in {quota.parent}'s"
        cure = f"add {', '.join(sorted(quota.min_keys - guaranteed))} to the parent's min"
        yield quota.rejected("spec.min", "Invalid", message, cure)


def _is_below_itself(quota: Quota, context: _Site) -> bool:
    seen = {quota.name}
    at: Quota | None = context.by_name.get(quota.parent)
    while at is not None:
        if at.name in seen:
            return at.name == quota.name
        seen.add(at.name)
        at = context.by_name.get(at.parent)
    return False


def _sums(parent: Quota | None, below: Sequence[Quota]) -> Iterator[Verdict]:
    """Yield a verdict if the children's minima exceed their parent's, on the parent or on an enlarged child.

    A quota with `allow-force-update` is accepted, although not all guarantees can then be satisfied.
    """
    if parent is None or parent.name == ROOT_QUOTA:
        return
    total: dict[str, int] = {}
    for child in below:
        for key, amount in child.least.values.items():
            total[key] = total.get(key, 0) + amount
    over = [key for key, amount in total.items() if amount > parent.least.values.get(key, 0)]
    if not over:
        return
    cure = f"raise min for {', '.join(over)} in {parent.name}, or lower min in a child"
    evaluated = [quota for quota in below if quota.index is not None and not quota.is_forced and not quota.is_root]
    if parent.index is not None and not parent.is_forced and not parent.is_root:
        message = f"checkMinQuotaSum all children's MinQuota > current MinQuota, current: {parent.name}"
        yield parent.rejected("spec.min", "Invalid", message, cure)
    elif evaluated:
        message = f"checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: {parent.name}"
        yield evaluated[-1].rejected("spec.min", "Invalid", message, cure)
    elif parent.index is not None and not parent.is_root:
        message = (
            f"the children's min values add up to more than the min of {parent.name}, so not every guarantee can be met"
        )
        yield parent.ignored("spec.min", "Invalid", message, cure)
