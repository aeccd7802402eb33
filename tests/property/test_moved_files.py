"""For any change of a team's file, its declarations are in the policy, or a finding names it.

Conservation law: for every declaration of a file below the policy's folder, the evaluated policy holds it, the
evaluation ends in an error, or the policy's omissions name the declaration or its file. Files with the suffix
of a text document are exempt.
"""

from __future__ import annotations

import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_policy.declaration import recording_declarations
from apportion_policy.errors import CollectError
from apportion_policy.evaluation.tree import PolicyTree
from apportion_policy.evaluation.unread_files import unread_files
from apportion_policy.policy import Policy
from apportion_policy.unused_declarations import unused_declarations

TEAMS = ("ads", "speech", "vision")
POLICY = """from apportion_policy import Organisation, Policy, Queue, collect

policy = Policy(organisation=Organisation(name="acme"), queues=collect("teams", Queue))
"""
BODIES = (
    'from apportion_policy import Queue\n\nTEAM = Queue(id="{id}")\n',
    'from apportion_policy import Queue\n\n_TEAM = Queue(id="{id}")\nOTHER = Queue(id="{id}-2")\n',
    'import apportion_policy as ap\n\nTEAMS = [ap.Queue(id="{id}")]\n',
    'from apportion_policy import Queue\n\nTEAMS = {{"one": Queue(id="{id}")}}\nOTHER = Queue(id="{id}-2")\n',
    'from shapes import team\n\nTEAM = team("{id}")\n',
    'from apportion_policy import Queue\n\nfor name in ("{id}",):\n    Queue(id=name)\nOTHER = Queue(id="{id}-2")\n',
)
FOLDERS = (".", "teams", "teams/ml", "teams/ml/eu", "teams/_old", "teams/.old", "old", "old/teams", "lib", "teams/1")
NAMES = ("{id}.py", "_{id}.py", ".{id}.py", "{id}-gpu.py", "{id}.PY", "{id}.yaml", "{id}.txt", "{id}", "{id}.py.off",
         "__init__.py", "policy.py", "{id}.v2.py", "test_{id}.py", "{id}~", "{id}.pyi")  # fmt: skip

moves = st.fixed_dictionaries({team: st.tuples(st.sampled_from(FOLDERS), st.sampled_from(NAMES)) for team in TEAMS})
bodies = st.fixed_dictionaries({team: st.sampled_from(BODIES) for team in TEAMS})


def _law(moved: dict[str, tuple[str, str]], body: dict[str, str]) -> None:
    with _folder() as folder:
        (folder / "policy.py").write_text(POLICY)
        (folder / "shapes.py").write_text(
            "from apportion_policy import Queue\n\n\ndef team(name):\n    return Queue(id=name)\n"
        )
        (folder / "teams").mkdir()
        (folder / "teams" / "stays.py").write_text(
            'from apportion_policy import Queue\nfrom shapes import team\n\nSTAYS = team("stays")\n'
        )
        written: dict[Path, str] = {}
        for team, (where, name) in moved.items():
            file = folder / where / name.format(id=team)
            if file in written or file == folder / "policy.py":
                file = folder / "teams" / f"{team}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body[team].format(id=team))
            written[file] = team
        with recording_declarations() as record:
            try:
                policy = runpy.run_path(str(folder / "policy.py"))["policy"]
            except CollectError:
                return
        assert isinstance(policy, Policy)
        read = [
            str(m.__file__) for m in sys.modules.values() if str(getattr(m, "__file__", "")).startswith(str(folder))
        ]
        tree = PolicyTree(str(folder), str(folder / "policy.py"))
        unread = unread_files(tree, [tree.entry, *read])
        named = {omission.name for omission in unused_declarations(record)} | {queue.id for queue in policy.queues}
        for file, team in written.items():
            assert team in named or str(file) in unread.files, f"{team} in {file.relative_to(folder)}"


@contextmanager
def _folder() -> Iterator[Path]:
    before = set(sys.modules)
    folder = Path(tempfile.mkdtemp()).resolve()
    sys.path.insert(0, str(folder))
    sys.path_importer_cache.clear()
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield folder
    finally:
        sys.dont_write_bytecode = bytecode
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
        shutil.rmtree(folder)


@settings(max_examples=60, deadline=None)
@given(moves, bodies)
def test_moved_file_is_collected_or_reported(moved: dict[str, tuple[str, str]], body: dict[str, str]) -> None:
    _law(moved, body)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(moves, bodies)
def test_many_moved_files_are_collected_or_reported(moved: dict[str, tuple[str, str]], body: dict[str, str]) -> None:
    _law(moved, body)
