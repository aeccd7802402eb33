"""Tables of the demo: the output for each cluster, and the fidelity of each feature."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from apportion_api.counted_nouns import counted

_EXACT, _APPROXIMATED, _UNUSED = "exact", "approx", "-"
_CONDITIONAL = f"{_EXACT}*"


def clusters_text(report: str) -> str:
    """Return a line for each cluster of a JSON compile report: its engine, and the number of objects of each target."""
    by_cluster: dict[str, list[str]] = {}
    for target in json.loads(report)["targets"]:
        n_objects = sum(target["objects"].values())
        what = (
            f"{target['target']}: {counted(n_objects, 'object')}"
            if n_objects
            else f"{target['target']}: text files only"
        )
        by_cluster.setdefault(f"{target['environment']}/{target['cluster']}", []).append(what)
    width = max(map(len, by_cluster))
    return "\n".join(f"{cluster:<{width}}  {', '.join(what)}" for cluster, what in by_cluster.items())


def fidelity_text(report: str) -> str:
    """Return a table of features and engines; a feature counts as used if any cluster of an engine uses it."""
    verdicts: dict[str, dict[str, str]] = {}
    features: dict[str, None] = {}
    for target in json.loads(report)["targets"]:
        for line in target["fidelity"]:
            features[line["feature"]] = None
            verdicts.setdefault(target["target"], {})[line["feature"]] = _verdict(line)
    rows = [["", *verdicts], *([f, *(of.get(f, _UNUSED) for of in verdicts.values())] for f in features)]
    conditional = any(_CONDITIONAL in row for row in rows)
    return _table(rows) + (f"\n{_CONDITIONAL}: only if the engine configuration is applied" if conditional else "")


def _verdict(line: Mapping[str, Any]) -> str:
    if line["code"] is not None:
        return str(line["code"])
    if line["verdict"] != _EXACT:
        return _APPROXIMATED
    return _CONDITIONAL if line.get("provided") else _EXACT


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in padded)
