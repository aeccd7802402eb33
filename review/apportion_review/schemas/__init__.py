"""Published JSON Schemas of the output of `advise`, `diff`, `fit` and `review`."""

from __future__ import annotations

from importlib.resources import files

SCHEMAS = {
    "advise": "advice.v1.json",
    "diff": "policy-diff.v1.json",
    "fit": "fit-report.v1.json",
    "review": "policy-review.v1.json",
}
"""Files by their name in `apportion schema --for`."""


def schema_text(name: str) -> str:
    """Return a schema. Raises `KeyError` for a name that is not in `SCHEMAS`."""
    return files(__name__).joinpath(SCHEMAS[name]).read_text(encoding="utf-8")
