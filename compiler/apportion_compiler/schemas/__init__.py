"""Published JSON Schemas: `policy.v1.json`, generated from the model, and one for each report."""

from __future__ import annotations

from pathlib import Path

SCHEMAS = {"policy": "policy.v1.json", "report": "validation-report.v1.json"}
"""Files by their name in `apportion schema --for`."""


def schema_text(name: str) -> str:
    """Return a schema. Raises `KeyError` for a name that is not in `SCHEMAS`."""
    return (Path(__file__).parent / SCHEMAS[name]).read_text(encoding="utf-8")
