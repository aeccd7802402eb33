"""Prerequisites of compiled objects, compared with an export of the cluster.

Compares the API versions of the objects, the engine's version according to its images, the ConfigMaps with the engine's
configuration, KubeRay's batch scheduler, and what reserves shared GPUs. Chart values that no object shows are listed for
a manual comparison. An export is what `kubectl get crds,deployments,configmaps,namespaces -A -o json` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import yaml

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_compiler.backends.capability import Output
from apportion_compiler.embedded_text import yaml_value
from apportion_compiler.engine_versions import parse_version
from apportion_compiler.engines.kueue.emit.manager import CONFIGURATION_FILE
from apportion_compiler.engines.kueue.names import SYSTEM_NAMESPACE
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.program import Program
from apportion_compiler.live_scheduler_installation import gpu_reservation
from apportion_compiler.plain_objects import described, group_of, items, mapping, name_of, of_kind, text

Manifest = Mapping[str, object]

_KUBERAY = re.compile(r"kuberay[\w/-]*operator")
_KUBERAY_FILE = "kuberay-values.yaml"
_BATCH_SCHEDULER = "--batch-scheduler="
_KUEUE_CONFIG_MAP = "kueue-manager-config"
_VALUES_FILES = ("values.yaml", "components.yaml")
_BUILT_IN = (
    "", "apps", "batch", "autoscaling", "policy", "admissionregistration.k8s.io", "rbac.authorization.k8s.io",
    SCHEDULING_GROUP,
)  # fmt: skip
"""Emitted API groups that every API server serves."""


@dataclass(frozen=True, slots=True)
class InstallationCheck:
    """A prerequisite of the output. `missing`: not in the export; `bad`: different in the export."""

    name: str
    state: Literal["ok", "missing", "bad"]
    text: str


def installation(program: Program, output: Output, export: Sequence[Manifest]) -> Iterator[InstallationCheck]:
    """Yield the result for each prerequisite of one engine's output."""
    yield from _served(output.manifests, export)
    yield from _version(program, export)
    yield from _configurations(output, export)
    for artifact in output.artifacts:
        if artifact.name == _KUBERAY_FILE:
            yield from _batch_scheduler(text(yaml.safe_load(artifact.content), "batchScheduler", "name"), export)
        elif artifact.name in _VALUES_FILES:
            yield InstallationCheck(
                artifact.name, "missing", "Helm values are not part of an export; compare them with `helm get values`"
            )
    for name, state, said in gpu_reservation(program, export):
        yield InstallationCheck(name, state, said)


def _served(manifests: Iterable[Manifest], export: Sequence[Manifest]) -> Iterator[InstallationCheck]:
    definitions = of_kind(export, "apiextensions.k8s.io", "CustomResourceDefinition")
    served = {
        (text(crd, "spec", "group"), text(crd, "spec", "names", "kind"), text(version, "name"))
        for crd in definitions
        for version in items(crd, "spec", "versions")
        if mapping(version).get("served") is True
    }
    kinds = {(text(crd, "spec", "group"), text(crd, "spec", "names", "kind")) for crd in definitions}
    needed = dict.fromkeys((group_of(m), str(m["kind"]), str(m["apiVersion"]).rpartition("/")[2]) for m in manifests)
    for group, kind, version in needed:
        if group in _BUILT_IN:
            continue
        name = f"{kind}.{group}/{version}"
        if not definitions:
            yield InstallationCheck(name, "missing", "the export contains no CustomResourceDefinitions")
        elif (group, kind, version) in served:
            yield InstallationCheck(name, "ok", "served")
        else:
            known = "a different version" if (group, kind) in kinds else "no CustomResourceDefinition for this kind"
            yield InstallationCheck(name, "bad", f"not served: {known} is installed")


def _version(program: Program, export: Sequence[Manifest]) -> Iterator[InstallationCheck]:
    title, image = TRAITS[program.engine].title, TRAITS[program.engine].image
    if image is None:
        return
    pattern = re.compile(image)
    wanted = parse_version(program.engine_version)
    tags = {match["version"] for image in _images(export) if (match := pattern.search(image))}
    if not tags:
        yield InstallationCheck(f"{title} version", "missing", f"the export contains no {title} image")
    for tag in sorted(tags):
        found = parse_version(tag)
        same = found is None or wanted is None or found == wanted
        message = f"{tag}, but the policy specifies {program.engine_version}"
        yield InstallationCheck(f"{title} version", "ok" if same else "bad", tag if same else message)


def _images(export: Sequence[Manifest]) -> Iterator[str]:
    for container in _containers(export):
        if (image := text(container, "image")) is not None:
            yield image


def _containers(export: Sequence[Manifest]) -> Iterator[Mapping[str, object]]:
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        for workload in of_kind(export, "apps", kind):
            for container in items(workload, "spec", "template", "spec", "containers"):
                yield mapping(container)


def _configurations(output: Output, export: Sequence[Manifest]) -> Iterator[InstallationCheck]:
    """Compare each ConfigMap that the engine reads with the settings that the policy requires."""
    wanted: list[Manifest] = [m for m in output.manifests if m["kind"] == "ConfigMap"]
    for artifact in output.artifacts:
        parsed = (
            yaml.safe_load(artifact.content) if artifact.name.endswith(".yaml") and "/" not in artifact.name else {}
        )
        if artifact.name == CONFIGURATION_FILE:
            named = {"name": _KUEUE_CONFIG_MAP, "namespace": SYSTEM_NAMESPACE}
            data = {CONFIGURATION_FILE: artifact.content}
            wanted.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": data})
        elif isinstance(parsed, dict) and parsed.get("kind") == "ConfigMap":
            wanted.append(parsed)
    found = {(text(m, "metadata", "namespace"), name_of(m)): m for m in of_kind(export, "", "ConfigMap")}
    for config_map in wanted:
        installed = found.get((text(config_map, "metadata", "namespace"), name_of(config_map)))
        if installed is None:
            yield InstallationCheck(described(config_map), "missing", "it is missing from the export")
            continue
        differing = next(_differences(_parsed(config_map), _parsed(installed)), None)
        yield InstallationCheck(
            described(config_map),
            "ok" if differing is None else "bad",
            "it contains all settings that the policy requires"
            if differing is None
            else f"{differing} differs from the value that the policy requires",
        )


def _parsed(config_map: Manifest) -> Mapping[str, object]:
    return {
        **{key: _document(str(value)) for key, value in mapping(config_map, "data").items()},
        **mapping(config_map, "binaryData"),
    }


def _document(content: str) -> object:
    try:
        return yaml_value(content)
    except ValueError:
        return content


def _differences(wanted: object, found: object, path: str = "") -> Iterator[str]:
    """Yield the paths of required values that are missing; additional values are ignored."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key, value in wanted.items():
            at = f"{path}.{key}" if path else str(key)
            if key not in found:
                yield at
            else:
                yield from _differences(value, found[key], at)
    elif isinstance(wanted, list) and isinstance(found, list):
        for number, value in enumerate(wanted):
            if not any(next(_differences(value, other), None) is None for other in found):
                yield f"{path}[{number}]"
    elif wanted != found:
        yield path or "its text"


def _batch_scheduler(wanted: str | None, export: Sequence[Manifest]) -> Iterator[InstallationCheck]:
    operators = [c for c in _containers(export) if _KUBERAY.search(text(c, "image") or "")]
    if not operators:
        yield InstallationCheck("KubeRay", "missing", "the export contains no KubeRay operator")
    for container in operators:
        arguments = [str(a) for a in (*items(container, "command"), *items(container, "args"))]
        found = next((a.removeprefix(_BATCH_SCHEDULER) for a in arguments if a.startswith(_BATCH_SCHEDULER)), None)
        message = f"batchScheduler.name is {found or 'not set'}" + (
            "" if found == wanted else f", but must be {wanted}"
        )
        yield InstallationCheck("KubeRay", "ok" if found == wanted else "bad", message)
