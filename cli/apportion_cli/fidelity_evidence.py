"""How each cell of `docs/fidelity.md` was verified, from `tests/conformance/evidence.yaml` of a checkout.

The file names tests, which are not installed with the package; only `apportion dev docs` and the tests read it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import yaml

from apportion_compiler.backends.capability import Backend, Feature, Unsupported
from apportion_compiler.backends.capability_table import fidelity_matrix, with_table
from apportion_compiler.engine_versions import VersionRange, minor_text, parse_version, range_text
from apportion_compiler.engines.registry import TRAITS

EVIDENCE = "tests/conformance/evidence.yaml"
RECORDING = "recording.json"
OBJECTS_ONLY = "O"
"""Letter of a cell whose objects alone were verified."""


class Kind(str, Enum):
    """A kind of evidence, in the order of the letters of a cell."""

    DECISIONS = "decisions"
    DEQUEUING = "dequeuing"
    PROPERTY = "property"
    SERVER = "server"

    @property
    def letter(self) -> str:
        """The letter in the table."""
        return {"decisions": "D", "dequeuing": "Q", "property": "P", "server": "S"}[self.value]


@dataclass(frozen=True, slots=True)
class Verification:
    """A test that verifies cells: the kind of its evidence, and its id as pytest writes it."""

    kind: Kind
    test: str


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """A version of a project, its commit or both; the other is empty."""

    version: str
    commit: str = ""
    project: str = ""

    @property
    def text(self) -> str:
        """The version as one clause, without the project."""
        return f"{self.version} ({self.commit})" if self.version and self.commit else self.version or self.commit or "–"


@dataclass(frozen=True, slots=True)
class VerifiedVersions:
    """The versions of an engine against which it was verified."""

    recorded: tuple[EngineVersion, ...]
    source: EngineVersion
    server: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The tests by name, the names of the tests of each cell, and the verified versions of each engine."""

    tests: Mapping[str, Verification]
    cells: Mapping[str, Mapping[Feature, tuple[str, ...]]]
    versions: Mapping[str, VerifiedVersions]

    def kinds(self, engine: str, feature: Feature) -> tuple[Kind, ...]:
        """Return the kinds of evidence for a cell."""
        found = {self.tests[name].kind for name in self.cells.get(engine, {}).get(feature, ())}
        return tuple(kind for kind in Kind if kind in found)


def read_evidence(root: Path) -> Evidence:
    """Return the evidence of a checkout.

    Raises:
        OSError: If a file is missing.
        ValueError: If a cell names a test, a feature or a kind that does not exist.
    """
    document = yaml.safe_load((root / EVIDENCE).read_text(encoding="utf-8"))
    tests = {
        name: Verification(Kind(kind), test)
        for kind, of_kind in document["tests"].items()
        for name, test in of_kind.items()
    }
    cells = {
        engine: {Feature(feature): tuple(names) for feature, names in row.items()}
        for engine, row in document["cells"].items()
    }
    for name in (name for row in cells.values() for names in row.values() for name in names):
        if name not in tests:
            raise ValueError(f"{EVIDENCE}: `cells` names {name}, which is not in `tests`")
    folder = (root / EVIDENCE).parent
    return Evidence(tests, cells, {engine: _versions(folder, row) for engine, row in document["versions"].items()})


_NOTHING = VerifiedVersions((), EngineVersion(""), "")


def with_fidelity_tables(page: str, backends: Collection[Backend], evidence: Evidence) -> str:
    """Return the page with its tables regenerated: verdicts, evidence, versions.

    Raises:
        ValueError: If the page lacks a marker.
    """
    ranges = {backend.name: TRAITS[backend.name].versions for backend in backends}
    page = with_table(page, fidelity_matrix(backends))
    page = with_table(page, evidence_table(backends, evidence), "evidence")
    return with_table(page, version_table(ranges, evidence), "versions")


def evidence_table(backends: Collection[Backend], evidence: Evidence) -> str:
    """Return a Markdown table with the letters of each cell; those of refused features are empty."""
    head = ("feature", *(backend.name for backend in backends))
    rows = ((feature.value, *(_letters(backend, feature, evidence) for backend in backends)) for feature in Feature)
    return _markdown(head, rows)


def version_table(ranges: Mapping[str, VersionRange], evidence: Evidence) -> str:
    """Return a Markdown table with the versions that each engine is written for, and those it was verified against."""
    head = (
        "engine",
        "written for",
        "decisions recorded from",
        "read from",
        "run in `make e2e`",
        "versions without recorded decisions",
    )
    rows = (
        _version_row(engine, written, evidence.versions.get(engine, _NOTHING)) for engine, written in ranges.items()
    )
    return _markdown(head, rows)


def _versions(folder: Path, row: Mapping[str, Any]) -> VerifiedVersions:
    recorded: dict[EngineVersion, None] = {}
    for name in row["recordings"]:
        recording = json.loads((folder / name / RECORDING).read_text(encoding="utf-8"))
        recorded |= dict.fromkeys(_version(source) for sources in recording.values() for source in sources)
    return VerifiedVersions(tuple(recorded), _version(row["source"]), row.get("server", ""))


def _version(source: Mapping[str, str]) -> EngineVersion:
    return EngineVersion(source.get("version", ""), source.get("commit", ""), source.get("project", ""))


def _version_row(engine: str, written: VersionRange, verified: VerifiedVersions) -> tuple[str, ...]:
    recorded = ", ".join(f"{each.project} {each.text}" for each in verified.recorded)
    unrecorded = _unrecorded(written, verified.recorded)
    return engine, range_text(written), recorded or "–", verified.source.text, verified.server or "–", unrecorded


def _letters(backend: Backend, feature: Feature, evidence: Evidence) -> str:
    if isinstance(backend.capabilities[feature], Unsupported):
        return ""
    return "".join(kind.letter for kind in evidence.kinds(backend.name, feature)) or OBJECTS_ONLY


def _unrecorded(versions: VersionRange, recorded: Collection[EngineVersion]) -> str:
    """Return the minor versions in the range from which no decision was recorded."""
    if versions.newest is None:
        return "all: the product is not public"
    known = {parse_version(each.version) for each in recorded}
    major, newest = versions.newest
    minors = [(major, minor) for minor in range(versions.oldest[1], newest + 1)]
    return ", ".join(minor_text(minor) for minor in minors if minor not in known) or "–"


def _markdown(head: Collection[str], rows: Iterable[Collection[str]]) -> str:
    lines = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join((f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines))
