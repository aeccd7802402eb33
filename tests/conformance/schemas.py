"""The schemas that emitted objects must match, without unknown fields.

Custom resources: the upstream definitions in tests/crds, converted to JSON Schema. An API server silently drops unknown
fields, so only a closed schema detects misspelled ones. Everything else: the schemas of Kubernetes itself that the
package `kubernetes-validate` carries, in their strict form.

Rules that JSON Schema cannot express (`x-kubernetes-validations`, webhooks) are tested against a real API server in
tests/e2e.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import yaml
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

CRDS = Path(__file__).parent.parent / "crds"
KUBERNETES = "v1.36.0-local-strict"

_GROUP = re.compile(r"^  group: (\S+)$", re.MULTILINE)
_KIND = re.compile(r"^    kind: (\S+)$", re.MULTILINE)
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
_VALUE = re.compile(rf"(?:{_NAME})?")
_QUALIFIED = re.compile(rf"(?:{_DOMAIN}/)?{_NAME}")
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}$){_DOMAIN}")

Schema = Mapping[str, Any]


def errors(manifest: Mapping[str, Any], crds: Path = CRDS) -> list[str]:
    """Return the errors of a strict API server for an object, with field paths."""
    api_version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
    validator = _validator(crds, api_version, kind)
    if validator is None:
        return [f"no schema for {api_version} {kind}: add its definition to tests/crds"]
    found = [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(manifest)]
    return found + _metadata_errors(cast("Mapping[str, Any]", manifest["metadata"]))


@cache
def _validator(crds: Path, api_version: str, kind: str) -> Draft7Validator | None:
    custom = _custom_schema(crds, api_version, kind)
    if custom is not None:
        return Draft7Validator(custom)
    kubernetes = _kubernetes_schema(api_version, kind)
    return None if kubernetes is None else Draft7Validator(kubernetes, registry=_definitions())


@cache
def _custom_schema(crds: Path, api_version: str, kind: str) -> Schema | None:
    group, _, version = api_version.rpartition("/")
    for path in _definition_files(crds).get((group, kind), ()):
        spec = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["spec"]
        for served in spec["versions"]:
            if served["name"] == version:
                schema = closed(served["schema"]["openAPIV3Schema"])
                # The CRD only declares metadata as an object: its fields are Kubernetes' own.
                schema["properties"]["metadata"] = {"type": "object"}
                # Every object has these fields, whether or not its CRD lists them.
                for field in ("apiVersion", "kind"):
                    schema["properties"].setdefault(field, {"type": "string"})
                return cast("Schema", schema)
    return None


@cache
def _definition_files(crds: Path) -> Mapping[tuple[str, str], list[Path]]:
    """Return the files of each group and kind, those named `strict` first; only what is asked for is parsed."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(crds.glob("*/*.yaml"), key=lambda path: (".strict." not in path.name, path)):
        defined = definition_of(path.read_text(encoding="utf-8"))
        if defined is not None:
            found.setdefault(defined, []).append(path)
    return found


def definition_of(text: str) -> tuple[str, str] | None:
    """Return the group and kind of a CRD file; None for other files."""
    group, kind = _GROUP.search(text), _KIND.search(text)
    if group is not None and kind is not None:
        return group[1], kind[1]
    # Parsing every CRD takes seconds, so this is only for layouts other than controller-gen's.
    document = yaml.load(text, Loader=yaml.CSafeLoader)
    if not isinstance(document, dict) or document.get("kind") != "CustomResourceDefinition":
        return None
    return document["spec"]["group"], document["spec"]["names"]["kind"]


def closed(node: Any) -> Any:
    """Return a structural schema as JSON Schema that rejects unknown fields."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    converted = {
        key: {name: closed(schema) for name, schema in value.items()} if key == "properties" else closed(value)
        for key, value in node.items()
        if not key.startswith("x-kubernetes-")
    }
    if "properties" in converted and not node.get("x-kubernetes-preserve-unknown-fields"):
        converted.setdefault("additionalProperties", False)
    if isinstance(converted.get("pattern"), str):
        # Go allows a flag anywhere, Python only at the beginning.
        converted["pattern"] = converted["pattern"].replace("^(?i)", "(?i)^")
    if node.get("x-kubernetes-int-or-string"):
        converted.pop("type", None)
        converted["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    # Drafts after 4 require a number where OpenAPI v3.0 has a flag in addition to `minimum`.
    if converted.get("exclusiveMinimum") is True:
        converted["exclusiveMinimum"] = converted.pop("minimum")
    return converted


def _kubernetes_schema(api_version: str, kind: str) -> Schema | None:
    group, _, version = api_version.rpartition("/")
    parts = [kind.lower(), *([group.split(".")[0]] if group else []), version]
    try:
        return _read(f"{'-'.join(parts)}.json")
    except FileNotFoundError:
        return None


@cache
def _definitions() -> Registry[Any]:
    return Registry().with_resource("_definitions.json", DRAFT7.create_resource(_read("_definitions.json")))


def _read(name: str) -> Schema:
    path = files("kubernetes_validate") / "kubernetes-json-schema" / KUBERNETES / name
    return cast("Schema", json.loads(path.read_text(encoding="utf-8")))


def _metadata_errors(metadata: Mapping[str, Any]) -> list[str]:
    """Yield the API server's errors for names and labels, which the schemas do not cover.

    Source: k8s.io/apimachinery/pkg/api/validation/objectmeta.go, pkg/util/validation/validation.go.
    """
    found: list[str] = []
    if not _SUBDOMAIN.fullmatch(str(metadata["name"])):
        found.append(f"metadata.name: {metadata['name']} is no RFC 1123 subdomain")
    for key, value in metadata.get("labels", {}).items():
        if not _QUALIFIED.fullmatch(key) or not isinstance(value, str) or not _VALUE.fullmatch(value):
            found.append(f"metadata.labels: {key}: {value!r}")
    for key, value in metadata.get("annotations", {}).items():
        if not _QUALIFIED.fullmatch(key) or not isinstance(value, str):
            found.append(f"metadata.annotations: {key}: {value!r}")
    return found
