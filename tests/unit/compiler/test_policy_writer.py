"""The generated Python: formatted like ruff, and safe for any imported names and texts."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from apportion_compiler.errors import UnwritableError
from apportion_compiler.policy_writer.declarations import PolicyIdentity
from apportion_compiler.policy_writer.expressions import text_literal
from apportion_compiler.policy_writer.files import policy_files
from apportion_compiler.policy_writer.python_names import constants, modules
from apportion_compiler.readers.record import (
    ImportRecord,
    Note,
    PoolRecord,
    PriorityClassRecord,
    QueueRecord,
    TopologyRecord,
)
from apportion_policy import UNLIMITED, Engine

IDENTITY = PolicyIdentity("acme", "prod", "main", Engine.KAI, "0.17", "@acme/platform")
GIB = 2**30
HOSTILE = (
    '""" import os; os.system("true") """',
    "'); import os; os.system('true')  #",
    "\\",
    "\\'\"",
    "# coding: utf-7",
)
UNPRINTABLE = ("line\nbreak", "a\u202eb\u2028c\x00\x1b[31m")


def _texts(*queues: QueueRecord, **others: object) -> dict[str, str]:
    return dict(policy_files(ImportRecord(queues, **others), IDENTITY)[0])


def test_each_team_has_a_file_with_readable_amounts() -> None:
    research = QueueRecord("research", "Queue research", guaranteed={"cpu": 64_000, "gpu": 8000}, weight={"cpu": 2000})
    vision = QueueRecord(
        "vision",
        "Queue vision",
        "research",
        title="Vision",
        namespaces=("vision",),
        guaranteed={"cpu": 0, "memory": 0, "gpu": 500},
        limit={"cpu": 1500, "memory": 2 * 2**40, "gpu": UNLIMITED},
        weight={"cpu": 2000, "memory": 2000, "gpu": 2000},
    )
    product = QueueRecord("product", "Queue product", guaranteed={"memory": 3 * GIB})
    files = _texts(research, vision, product)
    assert sorted(files) == ["policy.py", "teams/product.py", "teams/research.py"]
    assert files["teams/research.py"] == (
        '"""Queue `research` and its descendants."""\n'
        "\n"
        "from apportion_policy import Queue, Resources, Weight\n"
        "\n"
        "RESEARCH = Queue(\n"
        '    id="research",\n'
        "    guaranteed=Resources(cpu=64, gpu=8),\n"
        "    over_quota_weight=Weight(cpu=2),\n"
        ")\n"
        "\n"
        "VISION = Queue(\n"
        '    id="vision",\n'
        '    title="Vision",\n'
        "    parent=RESEARCH,\n"
        '    namespaces=("vision",),\n'
        '    guaranteed=Resources(gpu="0.5"),\n'
        '    limit=Resources(cpu="1500m", memory="2Ti"),\n'
        "    over_quota_weight=2,\n"
        ")\n"
    )
    assert files["teams/product.py"].endswith('PRODUCT = Queue(id="product", guaranteed=Resources(memory="3Gi"))\n')


def test_common_ancestors_are_in_the_platform_file() -> None:
    files = _texts(
        QueueRecord("acme", "Queue acme", guaranteed={"gpu": 8000}),
        QueueRecord("a", "Queue a", "acme"),
        QueueRecord("b", "Queue b", "acme"),
    )
    assert sorted(files) == ["policy.py", "teams/a.py", "teams/b.py"]
    assert 'queues=(ACME, *collect("teams", Queue)),' in files["policy.py"]


def test_guessed_pools_cover_the_guarantees() -> None:
    files, notes = policy_files(
        ImportRecord(
            (QueueRecord("a", "Queue a", guaranteed={"gpu/h100": 17_000}),), pools=(PoolRecord("h100", "h100"),)
        ),
        IDENTITY,
    )
    assert (
        'H100 = NodePool(id="h100", accelerator=Accelerator(model="h100", count=8), max_nodes=4)' in files["policy.py"]
    )
    assert any("placeholders" in note.text for note in notes)


def test_notes_are_in_the_file_of_their_queue() -> None:
    files = _texts(
        QueueRecord("a", "Queue a"), QueueRecord("b", "Queue b"), notes=(Note("Queue b", "x" * 100), Note("Shard", "y"))
    )
    assert "# * Queue b:\n#   xxx" in files["teams/b.py"]
    assert "# * Shard: y" in files["policy.py"]
    assert "# *" not in files["teams/a.py"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_cannot_become_code(text: str) -> None:
    assert ast.literal_eval(text_literal(text)) == text
    files = _texts(
        QueueRecord(text, f"Queue {text}", title=text, labels={text: text}, guaranteed={text: 1}),
        priority_classes=(PriorityClassRecord(text, 1, True, description=text),),
        topologies=(TopologyRecord(text, (text,)),),
        notes=(Note(text, text), Note(f"Queue {text}", text)),
    )
    for source in files.values():
        tree = ast.parse(source.encode("utf-8"))
        kinds = {type(node) for node in tree.body}
        assert kinds <= {ast.Expr, ast.ImportFrom, ast.Assign}
        assert all(
            isinstance(n, ast.Constant) for node in tree.body if isinstance(node, ast.Expr) for n in [node.value]
        )
        assert source.isprintable() or all(c.isprintable() or c == "\n" for c in source)
        called = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert called <= {"Queue", "Resources", "Policy", "Organisation", "Environment", "Cluster", "Topology", "PriorityClass", "collect"}  # fmt: skip


@pytest.mark.parametrize("text", UNPRINTABLE)
def test_multi_line_titles_are_joined_and_names_refused(text: str) -> None:
    assert ast.literal_eval(text_literal(text)) == text
    record = ImportRecord(
        (QueueRecord("a", "Queue a", title=text),),
        priority_classes=(PriorityClassRecord("p", 1, True, description=text),),
    )
    files, notes = policy_files(record, IDENTITY)
    assert all(c.isprintable() or c == "\n" for source in files.values() for c in source)
    assert {note.object for note in notes if "one line" in note.text} == {"Queue a", "PriorityClass p"}
    with pytest.raises(UnwritableError, match="`id` contains U\\+"):
        policy_files(ImportRecord((QueueRecord(text, "Queue"),)), IDENTITY)


def test_python_identifiers_are_unique() -> None:
    assert constants({n: n for n in ("queue", "Queue", "class", "a-b", "a.b", "_", "7", "équipe", "日本", "train")}) == {
        "queue": "QUEUE", "Queue": "QUEUE_2", "class": "CLASS", "a-b": "A_B", "a.b": "A_B_2", "_": "QUEUE_3",
        "7": "Q_7", "équipe": "EQUIPE", "日本": "QUEUE_4", "train": "TRAIN_2",
    }  # fmt: skip
    assert modules(("import", "Import", "_hidden", "x.y", "")) == {
        "import": "import_", "Import": "import_2", "_hidden": "hidden", "x.y": "x_y", "": "team",
    }  # fmt: skip


def test_unwritable_record_is_one_sentence() -> None:
    with pytest.raises(UnwritableError, match=r"^duplicate queue id `a`$"):
        _texts(QueueRecord("a", "Queue a"), QueueRecord("a", "Cohort a"))
    with pytest.raises(UnwritableError, match=r"^Accelerator model: "):
        _texts(QueueRecord("a", "Queue a"), pools=(PoolRecord("x", "NVIDIA H100"),))


# Linters are there in the slow tier only.
@pytest.mark.slow
def test_generated_code_is_formatted_as_by_ruff(tmp_path: Path) -> None:
    files = _texts(
        QueueRecord("a", "Queue a", guaranteed={"gpu/h100": 8000, "rdma/hca": 4}, limit={"gpu/h100": 8000}, labels={"k": "v"}),
        QueueRecord("b" * 60, "Queue b", "a", title='say "hi"', namespaces=tuple(f"namespace-{n}" for n in range(9))),
        pools=(PoolRecord("h100", "h100", {"a": "b"}, (("nvidia.com/gpu", "present", "NoSchedule"),)),),
        priority_classes=(PriorityClassRecord("train", 50, True, description="It's"),),
        notes=(Note("Queue a", "not kept"),),
    )  # fmt: skip
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "ruff"]
    for arguments in (["format", "--diff"], ["check", "--select", "I,F,UP,E,W", "--ignore", "E501"]):
        ran = subprocess.run(
            [*command, *arguments, "--isolated", tmp_path], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout
