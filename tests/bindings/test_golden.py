"""Every kind for every engine: the output, byte for byte, which the API server and the engine accept.

`golden/<engine>/<kind>.yaml`; rewrite with `pytest --update-golden tests/bindings` and review the diff.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_compiler.bindings import ENGINES, KINDS
from apportion_compiler.bindings.bind import bind
from apportion_compiler.bindings.options import Options, parse_secret
from apportion_compiler.dumper import dump_all
from apportion_compiler.engine_rules.workloads import workload_verdicts

from ..conformance.schemas import errors
from .programs import program

_GOLDEN = Path(__file__).parent / "golden"
_ASKED = Options(workers=2, gpus=4000, secrets=(parse_secret("hub:token"),))
CASES = [(engine, kind) for engine in ENGINES for kind, known in KINDS.items() if known.engine in {None, engine}]
_IDS = [f"{engine}-{kind}" for engine, kind in CASES]


@pytest.mark.parametrize(("engine", "kind"), CASES, ids=_IDS)
def test_workload_matches_golden_file(engine: str, kind: str, update_golden: bool) -> None:
    written = dump_all(bind(program(engine), "vision", kind, _ASKED))
    file = _GOLDEN / engine / f"{kind.lower()}.yaml"
    if update_golden:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written, encoding="utf-8")
        return
    assert written == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("engine", "kind"), CASES, ids=_IDS)
def test_workload_satisfies_the_schemas(engine: str, kind: str) -> None:
    held = yaml.load_all((_GOLDEN / engine / f"{kind.lower()}.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    assert [fault for manifest in held for fault in errors(manifest)] == []


@pytest.mark.parametrize(("engine", "kind"), CASES, ids=_IDS)
@pytest.mark.parametrize("workers", [1, 3])
def test_workload_would_not_stay_pending(engine: str, kind: str, workers: int) -> None:
    made = bind(program(engine), "vision", kind, Options(workers=workers))
    assert list(workload_verdicts(engine, made)) == []


def test_no_unused_golden_files() -> None:
    held = {(path.parent.name, path.stem) for path in _GOLDEN.glob("*/*.yaml")}
    assert held == {(engine, kind.lower()) for engine, kind in CASES}


@pytest.mark.parametrize(("engine", "kind"), CASES, ids=_IDS)
def test_secrets_are_referenced_only(engine: str, kind: str) -> None:
    made = bind(program(engine), "vision", kind, _ASKED)
    assert all(manifest["kind"] != "Secret" for manifest in made)
    references = list(_values(list(made), "secretKeyRef"))
    assert references
    assert all(reference == {"name": "hub", "key": "token"} for reference in references)


def _values(node: Any, key: str) -> Any:
    if isinstance(node, list):
        for item in node:
            yield from _values(item, key)
    elif isinstance(node, dict):
        for name, item in node.items():
            if name == key:
                yield item
            else:
                yield from _values(item, key)
