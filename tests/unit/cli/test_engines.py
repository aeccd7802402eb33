"""`apportion engines`: what a user reads about the engines agrees with the registries and the pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from apportion_cli.commands.engines import COMMANDS
from apportion_compiler.backends import BACKENDS
from apportion_compiler.bindings import ENGINES as BINDINGS
from apportion_compiler.engines.registry import ENGINES, TRAITS
from apportion_compiler.readers import READERS
from apportion_runtime.engines.registry import ENGINES as SIMULATED

from .conftest import Run

ROOT = Path(__file__).parents[3]


def test_list_fits_80_columns_and_agrees_with_the_page(run: Run) -> None:
    result = run("engines")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [re.split(r" {2,}", line.strip()) for line in lines[1 : 1 + len(ENGINES)]]
    assert [row[:2] for row in rows] == [[name, TRAITS[name].title] for name in ENGINES]
    page = (ROOT / "docs/fidelity.md").read_text(encoding="utf-8").partition("## Verification")[0]
    matrix = [
        line.split(" | ") for line in page.splitlines() if re.match(r"\| [a-z-]+ \| (exact|approx|refused)", line)
    ]
    for number, (_, _, versions, *counts) in enumerate(rows, start=1):
        verdicts = [re.split(r"[ ,]", cells[number])[0] for cells in matrix]
        assert counts == [str(verdicts.count(verdict)) for verdict in ("exact", "approximated", "refused")]
        assert re.fullmatch(r"\d+\.\d+ (to \d+\.\d+|and later)", versions)
    assert lines[-1].startswith("`apportion scheduler` supports ack and kai; ")


def test_list_in_json_and_markdown(run: Run) -> None:
    listed = json.loads(run("engines", "-o", "json").out)
    assert (listed["apiVersion"], listed["kind"]) == ("apportion.dev/v1", "EngineList")
    assert [one["name"] for one in listed["engines"]] == list(ENGINES)
    by_name = {one["name"]: one for one in listed["engines"]}
    assert by_name["kueue"]["versions"]["oldest"] == "0.14"
    assert by_name["ack"]["versions"]["newest"] is None
    assert all((ROOT / one["docs"]).is_file() for one in listed["engines"])
    assert (
        "| [native](docs/backends/native.md) | plain Kubernetes | Kubernetes 1.30 to 1.36 |"
        in run("engines", "-o", "md").out
    )


def test_one_engine_is_shown_with_its_objects_and_features(run: Run) -> None:
    out = run("engines", "kueue").out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("engine      kueue (Kueue)\nversions    Kueue 0.14 to 0.20, see\n")
    assert "ClusterQueue, LocalQueue" in " ".join(out.split())
    assert "root_cohort" in out
    assert re.search(r"^refused \(5\)$", out, re.MULTILINE)
    assert re.search(r"^  gpu-sharing +AP510: ", out, re.MULTILINE)
    shown = json.loads(run("engines", "native", "-o", "json").out)
    assert (shown["kind"], shown["settings"], shown["commands"]) == ("Engine", {}, list(COMMANDS))
    assert {line["support"] for line in shown["features"] if line["rule"]} == {"refused"}
    assert run("engines", "native", "-o", "md").out.startswith("* engine: native (plain Kubernetes)\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kueu", "unknown engine kueu; did you mean kueue?"),
        ("KAI", "unknown engine KAI; did you mean kai?"),
        ("slurm", f"unknown engine slurm; choose one of {', '.join(tuple(ENGINES)[:-1])} or {tuple(ENGINES)[-1]}"),
    ],
)
def test_unknown_engine_is_one_sentence(run: Run, name: str, message: str) -> None:
    result = run("engines", name)
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith(f"{message}\n")


_PARTS = {
    "bind": BINDINGS,
    "import": READERS,
    "simulate": SIMULATED,
    "fit": SIMULATED,
}


@pytest.mark.parametrize("name", ENGINES)
def test_commands_are_those_whose_part_exists(run: Run, name: str) -> None:
    listed = json.loads(run("engines", name, "-o", "json").out)["commands"]
    assert [command in listed for command in _PARTS] == [name in part for part in _PARTS.values()]


@pytest.mark.parametrize(
    ("part", "missing"),
    [
        ("apportion_compiler.bindings.ENGINES", {"bind"}),
        ("apportion_compiler.readers.READERS", {"import"}),
        ("apportion_runtime.engines.registry.ENGINES", {"simulate", "fit"}),
    ],
)
def test_commands_of_an_engine_without_an_optional_part(
    run: Run, monkeypatch: pytest.MonkeyPatch, part: str, missing: set[str]
) -> None:
    monkeypatch.setattr(part, ())
    listed = json.loads(run("engines", "kueue", "-o", "json").out)["commands"]
    assert listed == [command for command in COMMANDS if command not in missing]
    assert "other commands support every engine" not in run("engines").out


@pytest.mark.parametrize("name", ENGINES)
def test_kinds_are_those_of_the_golden_trees(name: str) -> None:
    found: dict[str, None] = {}
    for inventory in sorted(ROOT.glob(f"tests/golden/{name}-*/expected/{name}/inventory.json")):
        objects = json.loads(inventory.read_text(encoding="utf-8"))["objects"]
        kinds = list(dict.fromkeys(one["kind"] for one in objects))
        assert kinds == [kind for kind in BACKENDS[name].kinds if kind in kinds], inventory
        found |= dict.fromkeys(kinds)
    assert set(found) == set(BACKENDS[name].kinds)


def test_shell_completion_suggests_engines(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_APPORTION_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "apportion engines k")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert run().out.split() == ["plain,kai", "plain,koordinator", "plain,kueue"]
