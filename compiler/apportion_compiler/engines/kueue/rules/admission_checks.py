"""AdmissionCheck and ProvisioningRequestConfig by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.names import PROVISIONING_CONTROLLER
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.kubernetes_names import MAX_NAME, is_label, is_subdomain
from apportion_compiler.plain_objects import integer, items, mapping, text

MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"
_MAX_PARAMETERS = 100
_MAX_VALUE = 255
_MAX_CLASS = 253
_MAX_SELECTORS = 8
_MERGES = ("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")
_KINDS = {PROVISIONING_CONTROLLER: "ProvisioningRequestConfig", MULTIKUEUE_CONTROLLER: "MultiKueueConfig"}


def check_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on an AdmissionCheck, and on its change where it is stored already."""
    about, spec = FieldVerdicts(index), mapping(manifest, "spec")
    controller, name = text(spec, "controllerName"), text(spec, "parameters", "name")
    if controller is None:
        yield about.rejected(
            "spec.controllerName",
            "Required",
            "Required value",
            f"write {PROVISIONING_CONTROLLER}, or your controller's name",
        )
    if stored is not None and text(stored, "spec", "controllerName") != controller:
        yield about.rejected("spec.controllerName", "Invalid", "field is immutable", "make a check of another name")
    if name is not None and (len(name) > MAX_NAME or not is_label(name)):
        yield about.rejected(
            "spec.parameters.name", "Invalid", f'"{name}" is not a name of at most {MAX_NAME} characters without dots',
            "give the parameters another name",
        )  # fmt: skip
    kind = _KINDS.get(controller or "")
    if kind is not None and text(spec, "parameters", "kind") != kind:
        yield about.ignored(
            "spec.parameters.kind", "Invalid", f"the controller reads a {kind}, and the check is never active without one",
            f"write kind: {kind}",
        )  # fmt: skip


def config_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a ProvisioningRequestConfig; a change is evaluated as it stands."""
    del stored
    about, spec = FieldVerdicts(index), mapping(manifest, "spec")
    class_name = text(spec, "provisioningClassName")
    if class_name is None or len(class_name) > _MAX_CLASS or not is_subdomain(class_name):
        yield about.rejected(
            "spec.provisioningClassName",
            "Invalid",
            f'"{class_name}" is not a class name',
            "write queued-provisioning.gke.io",
        )
    parameters = mapping(spec, "parameters")
    if len(parameters) > _MAX_PARAMETERS:
        yield about.rejected(
            "spec.parameters", "TooMany", f"must have at most {_MAX_PARAMETERS} items", "leave some out"
        )
    for key, value in parameters.items():
        if not isinstance(value, str) or len(value) > _MAX_VALUE:
            yield about.rejected(
                f"spec.parameters[{key}]", "Invalid", f"must be text of at most {_MAX_VALUE} characters", "write text"
            )
    managed = items(spec, "managedResources")
    if len(managed) > _MAX_PARAMETERS or len(set(map(str, managed))) < len(managed):
        yield about.rejected(
            "spec.managedResources",
            "Invalid",
            f"must be at most {_MAX_PARAMETERS} different resources",
            "write each once",
        )
    yield from about.one_of(spec.get("podSetMergePolicy"), "spec.podSetMergePolicy", _MERGES)
    if len(items(spec, "podSetUpdates", "nodeSelector")) > _MAX_SELECTORS:
        yield about.rejected(
            "spec.podSetUpdates.nodeSelector", "TooMany", f"must have at most {_MAX_SELECTORS} items", "leave some out"
        )
    base, most = (integer(spec, "retryStrategy", field) for field in ("backoffBaseSeconds", "backoffMaxSeconds"))
    if base is not None and most is not None and base > most:
        yield about.ignored(
            "spec.retryStrategy.backoffBaseSeconds", "Invalid", f"it is above backoffMaxSeconds, and {most} holds",
            f"write at most {most}",
        )  # fmt: skip
