"""What nothing checks when the objects are applied, and what then leaves a queue inactive or its words without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.names import GROUP, PROVISIONING_CONTROLLER, cohort_of
from apportion_compiler.engines.kueue.rules.admission_checks import MULTIKUEUE_CONTROLLER
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.plain_objects import group_of, items, labels_of, mapping, name_of, text

_ASKED_FOR_BY_ALL = ("cpu", "memory")
_NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class _KnownObjects:
    """Kueue's objects by kind and name, of the manifests and of the cluster; namespaces with their labels."""

    objects: Mapping[str, Mapping[str, Manifest]]
    namespaces: Mapping[str, Mapping[str, str]]

    def __call__(self, kind: str) -> Mapping[str, Manifest]:
        """Return the objects of a kind by name."""
        return self.objects.get(kind, {})


def verdicts_together(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on references between Kueue's objects."""
    known = _known((*existing, *manifests))
    looped = _looped(known("Cohort"))
    for index, manifest in enumerate(manifests):
        if group_of(manifest) != GROUP:
            continue
        about, spec = FieldVerdicts(index), mapping(manifest, "spec")
        match manifest.get("kind"):
            case "ClusterQueue":
                yield from _cluster_queue(about, spec, known, looped)
            case "Cohort":
                yield from _cohort(about, name_of(manifest), spec, known, looped)
            case "ResourceFlavor":
                yield from _missing(about, "spec.topologyName", "Topology", text(spec, "topologyName"), known)
            case "AdmissionCheck":
                if text(spec, "controllerName") == PROVISIONING_CONTROLLER:
                    kind, name = "ProvisioningRequestConfig", text(spec, "parameters", "name")
                    yield from _missing(about, "spec.parameters.name", kind, name, known)
            case "LocalQueue":
                yield from _local_queue(about, manifest, known)
            case _:
                pass


def _known(manifests: Sequence[Manifest]) -> _KnownObjects:
    objects: dict[str, dict[str, Manifest]] = {}
    namespaces: dict[str, Mapping[str, str]] = {}
    for manifest in manifests:
        if group_of(manifest) == GROUP:
            objects.setdefault(str(manifest.get("kind")), {})[name_of(manifest)] = manifest
        elif manifest.get("kind") == "Namespace":
            namespaces[name_of(manifest)] = labels_of(manifest)
    return _KnownObjects(objects, namespaces)


def _looped(cohorts: Mapping[str, Manifest]) -> set[str]:
    """Return the cohorts that hang below themselves, or below such."""
    looped: set[str] = set()
    for name in cohorts:
        path, at = [], name
        while at in cohorts and at not in path and at not in looped:
            path.append(at)
            at = text(cohorts[at], "spec", "parentName") or ""
        if at in path or at in looped:
            looped.update(path)
    return looped


def _cluster_queue(
    about: FieldVerdicts, spec: Mapping[str, object], known: _KnownObjects, looped: set[str]
) -> Iterator[Verdict]:
    covered: set[str] = set()
    for number, group in enumerate(items(spec, "resourceGroups")):
        covered.update(map(str, items(group, "coveredResources")))
        for place, flavor in enumerate(items(group, "flavors")):
            field = f"spec.resourceGroups[{number}].flavors[{place}].name"
            yield from _missing(about, field, "ResourceFlavor", text(flavor, "name"), known)
    uncovered = [resource for resource in _ASKED_FOR_BY_ALL if covered and resource not in covered]
    if uncovered:
        yield about.pending(
            "spec.resourceGroups", "Required",
            f"work that asks for {' or '.join(uncovered)} is not admitted: no resource group covers it",
            "cover it, or name it in resources.excludeResourcePrefixes of the manager's configuration",
        )  # fmt: skip
    if cohort_of(spec) in looped:
        yield about.pending(
            "spec.cohortName", "Invalid", f"`{cohort_of(spec)}` is its own ancestor, and nothing below a cycle is admitted",
            "change spec.parentName of one of its cohorts",
        )  # fmt: skip
    yield from _admission_checks(about, spec, known)


def _admission_checks(about: FieldVerdicts, spec: Mapping[str, object], known: _KnownObjects) -> Iterator[Verdict]:
    path = "spec.admissionChecksStrategy.admissionChecks"
    named = [mapping(check) for check in items(spec, "admissionChecksStrategy", "admissionChecks")]
    controllers: list[str | None] = []
    for number, check in enumerate(named):
        name = text(check, "name")
        yield from _missing(about, f"{path}[{number}].name", "AdmissionCheck", name, known)
        controller = text(known("AdmissionCheck").get(name or "", {}), "spec", "controllerName")
        controllers.append(controller)
        if controller == MULTIKUEUE_CONTROLLER and items(check, "onFlavors"):
            yield about.pending(
                f"{path}[{number}].onFlavors", "Invalid", "a MultiKueue check for some flavors makes the queue inactive",
                "leave onFlavors out",
            )  # fmt: skip
    n_remote = controllers.count(MULTIKUEUE_CONTROLLER)
    if n_remote > 1 or (n_remote and PROVISIONING_CONTROLLER in controllers):
        yield about.pending(
            path, "Invalid", "a MultiKueue check beside another, or beside one that provisions, makes the queue inactive",
            "keep one of them",
        )  # fmt: skip


def _cohort(
    about: FieldVerdicts, name: str, spec: Mapping[str, object], known: _KnownObjects, looped: set[str]
) -> Iterator[Verdict]:
    parent = text(spec, "parentName")
    if parent is not None and parent not in known("Cohort"):
        yield about.ignored(
            "spec.parentName", "NotFound", f"there is no Cohort `{parent}`: Kueue assumes one without quotas or limits",
            f"write a Cohort {parent}, or leave parentName out",
        )  # fmt: skip
    elif parent != name and name in looped:
        yield about.pending(
            "spec.parentName", "Invalid", f"`{name}` is its own ancestor, and nothing below a cycle is admitted",
            "name another parent",
        )  # fmt: skip
    for number, group in enumerate(items(spec, "resourceGroups")):
        for place, flavor in enumerate(items(group, "flavors")):
            flavor_name = text(flavor, "name")
            if flavor_name is not None and flavor_name not in known("ResourceFlavor"):
                yield about.ignored(
                    f"spec.resourceGroups[{number}].flavors[{place}].name", "NotFound",
                    f"there is no ResourceFlavor `{flavor_name}`, so nothing can use this quota",
                    f"write a ResourceFlavor {flavor_name}",
                )  # fmt: skip


def _local_queue(about: FieldVerdicts, manifest: Manifest, known: _KnownObjects) -> Iterator[Verdict]:
    name, namespace = text(manifest, "spec", "clusterQueue"), text(manifest, "metadata", "namespace")
    found = known("ClusterQueue").get(name or "")
    yield from _missing(about, "spec.clusterQueue", "ClusterQueue", name, known)
    selector = None if found is None else mapping(found, "spec").get("namespaceSelector")
    if isinstance(selector, Mapping) and namespace is not None and not _selects(selector, namespace, known):
        yield about.pending(
            "metadata.namespace", "Invalid", f"the namespaceSelector of ClusterQueue `{name}` does not match `{namespace}`",
            "add the namespace to the selector",
        )  # fmt: skip


def _selects(selector: Mapping[str, object], namespace: str, known: _KnownObjects) -> bool:
    """Tell whether a selector may match a namespace: what is not known of its labels speaks for it."""
    labels = {**known.namespaces.get(namespace, {}), _NAMESPACE_NAME: namespace}
    is_known = namespace in known.namespaces

    def unknown(key: str) -> bool:
        return key not in labels and not is_known

    for key, value in mapping(selector, "matchLabels").items():
        if labels.get(key) != value and not unknown(key):
            return False
    for expression in items(selector, "matchExpressions"):
        key, values = text(expression, "key") or "", items(expression, "values")
        matched = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }.get(text(expression, "operator") or "", True)
        if not matched and not unknown(key):
            return False
    return True


def _missing(about: FieldVerdicts, field: str, kind: str, name: str | None, known: _KnownObjects) -> Iterator[Verdict]:
    """Yield a verdict where an object that another needs to be active is not there."""
    if name is not None and name not in known(kind):
        yield about.pending(
            field,
            "NotFound",
            f"there is no {kind} `{name}`, and without it nothing is admitted",
            f"write a {kind} {name}",
        )
