"""`apportion dev kai-case`: decisions for the cases of a file, or one error message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

TABLES = Path(__file__).parents[2] / "conformance" / "kai"


def case(**changes: Any) -> dict[str, Any]:
    return {
        "nodes": [{"name": "n0", "gpus": 2}],
        "queues": [{"name": "q", "deserved_gpus": 1, "limit_gpus": 0, "gpu_over_quota_weight": 1}],
        "auto_default_department": True,
        "jobs": [
            {"name": "a", "queue": "q", "priority": 50, "gpus_per_task": 1, "tasks": [{"state": "Pending"}]},
            {"name": "b", "queue": "q", "priority": 50, "gpus_per_task": 2, "tasks": [{"state": "Pending"}]},
        ],
        **changes,
    }


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_pods_and_shares_are_reported_after_each_round(run: Run) -> None:
    result = run("dev", "kai-case", write("one.json", json.dumps(case(), indent=1)), "--rounds", "2", "-o", "json")
    assert (result.code, result.err) == (0, "")
    first, second = json.loads(result.out)["rounds"]
    assert first["pods"] == {"a-0": {"status": "Binding", "node": "n0"}, "b-0": {"status": "Pending", "node": ""}}
    assert second["pods"]["a-0"] == {"status": "Running", "node": "n0"}
    assert first["queues"] == {"q": {"gpu_fair_share": 2.0}, "default": {"gpu_fair_share": 2.0}}


def test_case_sets_its_own_rounds_and_actions(run: Run) -> None:
    asked = case(rounds_until_match=2, rounds_after_match=1, actions=["reclaim"])
    file = write("one.json", json.dumps(asked))
    rounds = json.loads(run("dev", "kai-case", file).out)["rounds"]
    assert [made["pods"]["a-0"]["status"] for made in rounds] == ["Pending"] * 3
    chosen = json.loads(run("dev", "kai-case", file, "--actions", "all", "--rounds", "1").out)["rounds"]
    assert [made["pods"]["a-0"]["status"] for made in chosen] == ["Binding"]


def test_several_cases_print_one_line_each(run: Run) -> None:
    lines = "\n".join([json.dumps(case()), "", json.dumps(case(jobs=[]))])
    result = run("dev", "kai-case", write("cases.jsonl", lines))
    assert [len(json.loads(line)["rounds"][0]["pods"]) for line in result.out.splitlines()] == [2, 0]
    assert len(run("dev", "kai-case", "cases.jsonl", "--case", "1").out.splitlines()) == 1


def test_dumped_file_is_read(run: Run) -> None:
    result = run("dev", "kai-case", TABLES / "actions__allocate__allocateGang.json")
    assert len(result.out.splitlines()) == 6


def test_case_is_read_from_stdin_and_result_written_to_a_file(run_process: Run) -> None:
    result = run_process("dev", "kai-case", "-", "-o", "json=out.json", stdin=json.dumps(case()))
    assert (result.code, result.text) == (0, "")
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["rounds"]


def test_unknown_keys_and_nulls_are_ignored(run: Run) -> None:
    odd = case(colour="red", dra=None, topologies=None)
    odd["nodes"][0].update(labels=None, weight=3)
    odd["jobs"][0]["tasks"][0].update(node=None, nickname="x")
    assert run("dev", "kai-case", write("odd.json", json.dumps(odd))).code == 0


def wrong(**changes: Any) -> str:
    return json.dumps(case(**changes))


def job(**changes: Any) -> list[dict[str, Any]]:
    return [{**case()["jobs"][0], **changes}]


BAD = {
    "empty": ("", "f.json: the file is empty"),
    "no json": ("{\n 'a'", "f.json:2: invalid JSON: expecting property name enclosed in double quotes"),
    "broken line": (f"{json.dumps(case())}\n{{\n", "f.json:2: invalid JSON"),
    "NaN": ('{"nodes": NaN}', "f.json: NaN is not a valid JSON number"),
    "deep": ("[" * 100_000, "too many levels of nesting"),
    "no case": ('{"cases": []}', "f.json: the file contains no cases"),
    "cases of another kind": ('{"cases": 1}', "f.json: `cases` must be a list"),
    "a number": ("1", "f.json: a case must be an object, not 1"),
    "no nodes": ("{}", "f.json: a case has no nodes"),
    "second line": (f"{json.dumps(case())}\n{{}}", "f.json:2: a case has no nodes"),
    "nodes": (wrong(nodes={}), "nodes of a case must be a list, not {}"),
    "node twice": (wrong(nodes=[{"name": "n0"}, {"name": "n0"}]), "more than one node is named n0"),
    "negative node": (wrong(nodes=[{"name": "n0", "gpus": -1}]), "gpus of node n0 must be a non-negative integer"),
    "negative request": (wrong(jobs=job(gpus_per_task=-1)), "gpus_per_task of job a must be a non-negative number"),
    "text for number": (wrong(jobs=job(priority="high")), "priority of job a must be an integer, not 'high'"),
    "queue": (wrong(jobs=job(queue="r")), "job a belongs to queue r, which does not exist"),
    "node": (
        wrong(jobs=job(tasks=[{"state": "Running", "node": "n9"}])),
        "task 0 of job a is on node n9, which does not exist",
    ),
    "state": (wrong(jobs=job(tasks=[{"state": "Asleep"}])), "the state 'Asleep' of task 0 of job a is unknown"),
    "sub-group": (
        wrong(jobs=job(tasks=[{"state": "Pending", "sub_group": "s"}])),
        "task 0 of job a belongs to sub-group s, which does not exist",
    ),
    "parent": (
        wrong(auto_default_department=False, disable_default_department=True, queues=[{"name": "q", "parent": "p"}]),
        "the parent p of queue q does not exist",
    ),
    "action": (wrong(actions=["allocat"]), "unknown action 'allocat'; supported actions are allocate"),
}


@pytest.mark.parametrize(("text", "says"), BAD.values(), ids=BAD)
def test_invalid_case_is_one_sentence(run: Run, text: str, says: str) -> None:
    result = run("dev", "kai-case", write("f.json", text))
    assert (result.code, result.out) == (3, "")
    assert says in result.err
    assert "Traceback" not in result.err
    assert len(result.err.splitlines()) == 1


def test_missing_file_is_reported(run: Run) -> None:
    result = run("dev", "kai-case", "nothing.json")
    assert (result.code, result.err) == (
        3,
        "apportion: error: nothing.json cannot be read: No such file or directory\n",
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--case", "1"), "f.json has no case 1; it contains 1 case, numbered from 0"),
        (("--actions", "allocate,walk"), "`walk` is not one of all, allocate"),
        (("--actions", ","), "no actions given"),
        (("--rounds", "0"), "0 is not in the range"),
        (("-o", "yaml"), "`yaml` is not one of json"),
    ],
)
def test_invalid_options_are_usage_errors(run: Run, options: tuple[str, ...], says: str) -> None:
    result = run("dev", "kai-case", write("f.json", json.dumps(case())), *options)
    assert result.code == 2
    assert says in result.err
