"""References that are not checked on admission, and that make a queue inactive or a field ineffective."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar, cast

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_api.kueue.names import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER
from apportion_api.kueue.objects import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ProvisioningRequestConfig,
    QuotaHolder,
    ResourceFlavor,
    Topology,
)
from apportion_api.objects import ApiObject, LabelSelector, is_a, read, read_all
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.plain_objects import labels_of, name_of, of_kind

_Object = TypeVar("_Object", bound=ApiObject)
_ASKED_FOR_BY_ALL = ("cpu", "memory")
_NAMESPACE_NAME = NAMESPACE_LABEL


class _KnownObjects:
    """Kueue's objects by name, from the manifests and the cluster; namespaces with their labels."""

    def __init__(self, manifests: Sequence[Manifest]) -> None:
        forms: tuple[type[ApiObject], ...] = (
            Topology, ResourceFlavor, ProvisioningRequestConfig, AdmissionCheck, Cohort, ClusterQueue
        )  # fmt: skip
        self._objects: Mapping[type[ApiObject], Mapping[str, ApiObject]] = {
            form: {one.name: one for one in read_all(form, manifests)} for form in forms
        }
        self.namespaces = {name_of(one): labels_of(one) for one in of_kind(manifests, "", "Namespace")}

    def __call__(self, form: type[_Object]) -> Mapping[str, _Object]:
        """Return the objects of a kind by name."""
        return cast("Mapping[str, _Object]", self._objects[form])


def verdicts_together(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on references between Kueue's objects."""
    known = _KnownObjects((*existing, *manifests))
    looped = _looped(known(Cohort))
    for index, manifest in enumerate(manifests):
        about = FieldVerdicts(index)
        if is_a(ClusterQueue, manifest):
            yield from _cluster_queue(about, read(ClusterQueue, manifest), known, looped)
        elif is_a(Cohort, manifest):
            yield from _cohort(about, read(Cohort, manifest), known, looped)
        elif is_a(ResourceFlavor, manifest):
            topology = read(ResourceFlavor, manifest).topology
            yield from _missing(about, "spec.topologyName", Topology, topology, known)
        elif is_a(AdmissionCheck, manifest):
            check = read(AdmissionCheck, manifest)
            if check.controller == PROVISIONING_CONTROLLER:
                config = ProvisioningRequestConfig
                yield from _missing(about, "spec.parameters.name", config, check.parameters, known)
        elif is_a(LocalQueue, manifest):
            yield from _local_queue(about, read(LocalQueue, manifest), known)


def _looped(cohorts: Mapping[str, Cohort]) -> set[str]:
    """Return the cohorts in a cycle, and their descendants."""
    looped: set[str] = set()
    for name in cohorts:
        path, at = [], name
        while at in cohorts and at not in path and at not in looped:
            path.append(at)
            at = cohorts[at].parent or ""
        if at in path or at in looped:
            looped.update(path)
    return looped


def _cluster_queue(
    about: FieldVerdicts, queue: ClusterQueue, known: _KnownObjects, looped: set[str]
) -> Iterator[Verdict]:
    covered = {resource for group in queue.groups for resource in group.resources}
    for field, flavor in _flavors(queue):
        yield from _missing(about, field, ResourceFlavor, flavor, known)
    uncovered = [resource for resource in _ASKED_FOR_BY_ALL if covered and resource not in covered]
    if uncovered:
        yield about.pending(
            "spec.resourceGroups", "Required",
            f"workloads that request {' or '.join(uncovered)} are not admitted: no resource group covers such requests",
            f"add a resource group that covers {' and '.join(uncovered)}, or exclude {'them' if len(uncovered) > 1 else 'it'} with resources.excludeResourcePrefixes in the manager configuration",
        )  # fmt: skip
    if queue.parent in looped:
        yield about.pending(
            "spec.cohortName", "Invalid", f"`{queue.parent}` is in or below a cohort cycle, where Kueue admits no "
            "workloads",
            "change spec.parentName in one of the cohorts",
        )  # fmt: skip
    yield from _admission_checks(about, queue, known)


def _flavors(holder: QuotaHolder) -> Iterator[tuple[str, str]]:
    """Yield the flavors with quotas, each with its path."""
    for number, group in enumerate(holder.groups):
        for place, flavor in enumerate(group.flavors):
            yield f"spec.resourceGroups[{number}].flavors[{place}].name", flavor.flavor


def _admission_checks(about: FieldVerdicts, queue: ClusterQueue, known: _KnownObjects) -> Iterator[Verdict]:
    path = "spec.admissionChecksStrategy.admissionChecks"
    controllers: list[str | None] = []
    for number, check in enumerate(queue.checks):
        yield from _missing(about, f"{path}[{number}].name", AdmissionCheck, check.name, known)
        found = known(AdmissionCheck).get(check.name)
        controllers.append(None if found is None else found.controller)
        if controllers[-1] == MULTIKUEUE_CONTROLLER and check.flavors:
            yield about.pending(
                f"{path}[{number}].onFlavors", "Invalid", "a MultiKueue check that applies only to some flavors "
                "makes the queue inactive",
                "remove onFlavors",
            )  # fmt: skip
    n_remote = controllers.count(MULTIKUEUE_CONTROLLER)
    if n_remote > 1 or (n_remote and PROVISIONING_CONTROLLER in controllers):
        yield about.pending(
            path, "Invalid", "combining a MultiKueue check with another MultiKueue check or a provisioning check makes the "
            "queue inactive",
            "keep only one of these checks",
        )  # fmt: skip


def _cohort(about: FieldVerdicts, cohort: Cohort, known: _KnownObjects, looped: set[str]) -> Iterator[Verdict]:
    name, parent = cohort.name, cohort.parent
    if parent is not None and parent not in known(Cohort):
        yield about.ignored(
            "spec.parentName", "NotFound", f"Cohort `{parent}` does not exist: Kueue treats it as having no quotas "
            "or limits",
            f"create a Cohort {parent}, or remove parentName",
        )  # fmt: skip
    elif parent != name and name in looped:
        yield about.pending(
            "spec.parentName", "Invalid", f"`{name}` is in or below a cohort cycle, where Kueue admits no workloads",
            "use a different parent",
        )  # fmt: skip
    for field, flavor in _flavors(cohort):
        if flavor and flavor not in known(ResourceFlavor):
            yield about.ignored(
                field, "NotFound", f"ResourceFlavor `{flavor}` does not exist, so no workload can use this quota",
                f"create a ResourceFlavor {flavor}",
            )  # fmt: skip


def _local_queue(about: FieldVerdicts, queue: LocalQueue, known: _KnownObjects) -> Iterator[Verdict]:
    name, namespace = queue.cluster_queue, queue.namespace
    found = known(ClusterQueue).get(name or "")
    yield from _missing(about, "spec.clusterQueue", ClusterQueue, name, known)
    selector = None if found is None else found.selector
    if selector is not None and namespace and not _selects(selector, namespace, known):
        yield about.pending(
            "metadata.namespace", "Invalid", f"ClusterQueue `{name}` does not select namespace `{namespace}`",
            "add the namespace to its namespaceSelector",
        )  # fmt: skip


def _selects(selector: LabelSelector, namespace: str, known: _KnownObjects) -> bool:
    """Return whether a selector may match a namespace: unknown labels are assumed to match."""
    labels = {**known.namespaces.get(namespace, {}), _NAMESPACE_NAME: namespace}
    is_known = namespace in known.namespaces

    def unknown(key: str) -> bool:
        return key not in labels and not is_known

    for key, value in selector.labels.items():
        if labels.get(key) != value and not unknown(key):
            return False
    for expression in selector.expressions:
        key, values = expression.key, expression.values
        matched = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }.get(expression.operator, True)
        if not matched and not unknown(key):
            return False
    return True


def _missing(
    about: FieldVerdicts, field: str, form: type[ApiObject], name: str | None, known: _KnownObjects
) -> Iterator[Verdict]:
    """Yield a verdict if an object does not exist that another requires to be active."""
    if name and name not in known(form):
        kind = form.__name__
        yield about.pending(
            field,
            "NotFound",
            f"{kind} `{name}` does not exist, so no workload is admitted",
            f"create a {kind} {name}",
        )
