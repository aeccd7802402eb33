"""The JSON Schema of a policy document, for editors and generators of documents."""

from __future__ import annotations

from typing import Any

from apportion_policy.policy import Policy

JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
IDENTIFIER = "https://apportion.dev/schemas/policy.v1.json"
_HEADER: dict[str, Any] = {
    "$schema": {"type": "string", "description": "The URL of this schema, for editors."},
    "apiVersion": {"const": "apportion.dev/v1", "description": "The version of the format."},
    "kind": {"const": "Policy"},
    "include": {
        "description": "Paths of documents below this document's folder; their lists are appended to its lists. "
        "* matches any name.",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    },
}


def policy_schema() -> dict[str, Any]:
    """Return the schema of a complete document, including its optional header."""
    schema = Policy.model_json_schema()
    _without_generated_titles(schema)
    properties = {**_HEADER, **schema.pop("properties")}
    return {
        "$schema": JSON_SCHEMA_DIALECT,
        "$id": IDENTIFIER,
        "title": "Apportion policy",
        "description": schema.pop("description"),
        "type": "object",
        "properties": properties,
        **{key: value for key, value in schema.items() if key not in ("title", "type")},
    }


def _without_generated_titles(schema: dict[str, Any]) -> None:
    """Remove titles that only repeat a field's name, because editors show them instead of the description."""
    for definition in (schema, *schema.get("$defs", {}).values()):
        for field in definition.get("properties", {}).values():
            field.pop("title", None)
