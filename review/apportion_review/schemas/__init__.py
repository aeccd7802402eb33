"""Published JSON Schemas of the documents that `diff` and `review` write."""

from __future__ import annotations

from importlib.resources import files

SCHEMAS = {"diff": "policy-diff.v1.json", "fit": "fit-report.v1.json", "review": "policy-review.v1.json"}
"""Files by the name that `apportion schema --for` takes."""


def schema_text(name: str) -> str:
    """Return a schema. Raises `KeyError` for a name that is not in `SCHEMAS`."""
    return files(__name__).joinpath(SCHEMAS[name]).read_text(encoding="utf-8")
