"""Files of any size, kind and name: no blocking, no unbounded reading, no raw output."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from apportion_cli.bounded_text import UnreadableFileError, content_found, content_of
from apportion_compiler.emit.output_folder import LinkedPathError, open_output
from apportion_compiler.emit.tree_files import compare_tree

from .conftest import Run

POLICY = """\
from apportion_policy import Cluster, Environment, Organisation, Policy, Queue, collect
policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", namespaces=("vision",)), *{more}),
    environments=(Environment(name="prod", clusters=(Cluster(name="c", engine="kai", engine_version="0.17.0"),)),),
)
"""
TWO_GIB = 2 * 1024**3


def _large(file: Path) -> None:
    with file.open("wb") as made:
        made.truncate(TWO_GIB)


def _device(file: Path) -> None:
    file.symlink_to("/dev/zero")


KINDS = {"large": _large, "pipe": os.mkfifo, "device": _device}


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format(more="()"))
    return file


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("name", ["apportion.toml", "pyproject.toml"])
def test_settings_must_be_a_small_regular_file(name: str, make: Callable[[Path], None], policy: Path, run: Run) -> None:
    make(policy.with_name(name))
    done = run("validate")
    assert (done.code, f"{name} cannot be read: it" in done.err) == (3, True)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_special_files_in_a_rendered_tree_are_handled(make: Callable[[Path], None], policy: Path, run: Run) -> None:
    assert run("compile").code == 0
    make(policy.parent / "rendered/prod/c/kai/more.yaml")
    assert run("compile", "--check").code == 10
    (policy.parent / "rendered/prod/c/kai/more.yaml").unlink()
    (policy.parent / "rendered/prod/c/kai/inventory.json").unlink()
    make(policy.parent / "rendered/prod/c/kai/inventory.json")
    refused = run("compile", "--check")
    assert (refused.code, "inventory.json" in refused.err) == (3, True)
    scenario = policy.with_name("scenario.yaml")
    scenario.write_text("name: a\n")
    refused = run("simulate", "rendered", "--scenario", scenario)
    assert (refused.code, "inventory.json cannot be read: it" in refused.err) == (3, True)


def test_tree_with_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion_compiler.emit.output_folder._MAX_ENTRIES", 20)
    (tmp_path / "out/t/a").mkdir(parents=True)
    for number in range(21):
        (tmp_path / "out/t/a" / str(number)).write_bytes(b"")
    with (
        open_output(tmp_path / "out", writing=False) as folder,
        pytest.raises(LinkedPathError, match="t/a contains more than 20 entries"),
    ):
        compare_tree(folder, "t", {})


@pytest.mark.parametrize(
    "verb",
    [
        ("drift", "prod", "--export", "/dev/zero", "-p", "policy.py"),
        ("import", "--from", "kai", "/dev/zero", "--out", "new"),
        ("simulate", "--cycle", "/dev/zero"),
        ("simulate", "policy.py", "--scenario", "/dev/zero"),
        ("simulate", "policy.py", "--trace", "sacct:/dev/zero"),
        ("dev", "kai-case", "/dev/zero"),
    ],
    ids=lambda verb: "-".join(verb[:1]),
)
def test_devices_are_not_read(verb: tuple[str, ...], policy: Path, run: Run) -> None:
    done = run(*verb)
    assert (done.code, "it is a device" in done.err) == (3, True)


def test_file_size_is_checked_before_reading(tmp_path: Path) -> None:
    _large(tmp_path / "large")
    for read in (content_of, content_found):
        with pytest.raises(UnreadableFileError, match="it exceeds the limit of 5 bytes"):
            read(tmp_path / "large", 5)


def test_too_deep_export_is_refused(policy: Path, run: Run) -> None:
    policy.with_name("deep.json").write_text("[" * 100_000)
    done = run("drift", "prod", "--export", "deep.json", "-p", "policy.py")
    assert (done.code, "nested deeper than 200 levels" in done.err) == (3, True)


@pytest.mark.parametrize(
    "form", ["sarif", *(pytest.param(form, marks=pytest.mark.slow) for form in ("text", "json", "junit", "github"))]
)
def test_undecodable_file_name_is_escaped(form: str, policy: Path, run: Run) -> None:
    Path("left-\udcff.py").write_text("from apportion_policy import Queue\nB = Queue(id='b')\n")
    done = run("validate", "-o", form)
    assert (done.code, "udcff" in done.text, "\udcff" in done.text) == (1, True, False)


def test_policy_file_with_undecodable_name_is_refused(policy: Path, run: Run) -> None:
    policy.write_text(POLICY.format(more="collect('teams', Queue)"))
    Path("teams").mkdir()
    Path("teams/b\udcff.py").write_text("from apportion_policy import Queue\nB = Queue(id='b')\n")
    assert "teams/b\\udcff.py is not valid UTF-8" in run("validate").text
    Path("q\udcff.yaml").write_text("organisation: {name: a}\n")
    assert "is not valid UTF-8" in run("validate", "q\udcff.yaml").text
    Path("q.yaml").write_text("organisation: {name: a}\ninclude: q?.yaml\n")
    assert "must be a regular file with a UTF-8 name" in run("validate", "q.yaml").text


def test_named_pipe_in_a_policy_is_refused(policy: Path, run: Run) -> None:
    policy.write_text(POLICY.format(more="collect('teams', Queue)"))
    Path("teams").mkdir()
    os.mkfifo("teams/b.py")
    assert "teams/b.py is not a regular file" in run("validate").text


def test_undecodable_folder_is_not_an_organisation_name(policy: Path, run: Run) -> None:
    assert run("compile").code == 0
    done = run("import", "--from", "kai", "rendered", "--out", "new\udcff")
    assert (done.code, "--organisation is required" in done.err) == (2, True)


def test_memory_limit_has_a_maximum(policy: Path, run: Run) -> None:
    assert run("validate", "--memory-limit", "65Gi").code == 2
