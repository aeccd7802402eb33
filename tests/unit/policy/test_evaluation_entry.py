"""Policy entries: locations, the files of a policy, and read access."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from apportion_policy.evaluation.parent import start
from apportion_policy.evaluation.read_access import readable_paths
from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
from apportion_policy.evaluation.tree import EntryError, locate
from apportion_policy.wire import load

IMPORTS = "from apportion_policy import Organisation, Policy\n"
NAMED = "Policy(organisation=Organisation(name={!r}))"


def organisation(entry: Path | str) -> str:
    outcome = start(entry).result()
    assert isinstance(outcome, EvaluatedPolicy), outcome
    return load(outcome.document).organisation.name


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("body", "suffix"),
    [
        ("policy = " + NAMED.format("acme"), ""),
        ("anything = " + NAMED.format("acme"), ""),
        ("def policy():\n    return " + NAMED.format("acme"), ""),
        ("a = " + NAMED.format("a") + "\nb = " + NAMED.format("acme"), ":b"),
        ("def make() -> Policy:\n    return " + NAMED.format("acme"), ":make"),
        ("policy = " + NAMED.format("acme") + "\nb = " + NAMED.format("b"), ":policy"),
        ("import sys\nassert sys.argv == [__file__]\npolicy = " + NAMED.format("acme"), ""),
        ("import os\nassert os.getcwd() == os.path.dirname(__file__)\npolicy = " + NAMED.format("acme"), ""),
    ],
)
def test_forms_of_a_policy_entry(body: str, suffix: str, tmp_path: Path) -> None:
    write(tmp_path / "policy.py", IMPORTS + body + "\n")
    assert organisation(f"{tmp_path}/policy.py{suffix}") == "acme"


def test_entry_can_import_the_policy_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "policy.py", IMPORTS + "NAME = 'spread'\npolicy = " + NAMED.format("packed"))
    write(
        tmp_path / "spread.py",
        IMPORTS + "from policy import NAME\npolicy = Policy(organisation=Organisation(name=NAME))",
    )
    assert organisation(tmp_path / "spread.py") == "spread"


def test_python_takes_precedence_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "policy.yaml", "organisation: {name: yaml}\n")
    assert organisation(tmp_path) == "yaml"
    write(tmp_path / "policy.py", IMPORTS + "policy = " + NAMED.format("python"))
    assert organisation(tmp_path) == "python"


def test_policy_can_import_its_package(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "acme/__init__.py", "")
    write(tmp_path / "acme/names.py", "NAME = 'acme'\n")
    write(tmp_path / "acme/prod/__init__.py", "")
    entry = write(
        tmp_path / "acme/prod/policy.py",
        IMPORTS + "from acme.names import NAME\nfrom ..names import NAME as AGAIN\n"
        "policy = Policy(organisation=Organisation(name=NAME))\n",
    )
    assert organisation(entry) == "acme"


def test_package_outside_a_repository_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "acme/__init__.py", "NAME = 'acme'\n")
    for statement in ("from acme import NAME", "from . import NAME"):
        outcome = start(write(tmp_path / "acme/policy.py", statement)).result()
        assert isinstance(outcome, Rejected)
        assert (outcome.faults[0].kind, "only in a git repository" in str(outcome.faults[0].hint)) == (
            "missing-import",
            True,
        )


def test_file_named_like_a_standard_module(tmp_path: Path) -> None:
    entry = write(tmp_path / "types.py", IMPORTS + "policy = " + NAMED.format("acme"))
    assert organisation(entry) == "acme"


def test_missing_attribute_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "policy.py", IMPORTS)
    outcome = start(f"{tmp_path}/policy.py:prod").result()
    assert isinstance(outcome, Rejected)
    assert [(fault.kind, fault.message) for fault in outcome.faults] == [("no-policy", "policy.py has no `prod`")]


def refused(entry: str | Path) -> tuple[str, str]:
    with pytest.raises(EntryError) as error:
        locate(entry)
    return error.value.fault.kind, error.value.fault.message


def test_special_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.py"))
    write(tmp_path / "notes.txt", "")
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/policy.py").symlink_to("/etc/hostname")
    assert refused(tmp_path / "pipe.py")[1].endswith("pipe.py is a named pipe, not a file")
    assert refused(tmp_path / "s.py")[1].endswith("s.py is a socket, not a file")
    assert refused("/dev/null")[1] == "/dev/null is a device, not a file"
    assert refused(tmp_path / "none.py")[1].endswith("none.py does not exist")
    assert refused(tmp_path / "dangling.py")[1].endswith("dangling.py does not exist")
    assert refused(tmp_path / "notes.txt/policy.py")[1].endswith("cannot be read: Not a directory")
    assert refused(tmp_path / "notes.txt")[1].endswith(
        "neither a Python file (.py) nor a document (.yaml, .yml, .json)"
    )
    assert refused(tmp_path / "out")[1].endswith("policy.py is a symbolic link that points outside its folder")
    assert refused("")[0] == refused("a\0b")[0] == "unreadable-input"
    kind, message = refused(tmp_path)
    assert kind == "no-policy"
    assert message.endswith("contains none of policy.py, policy.yaml, policy.yml, policy.json")


def test_paths_are_escaped(tmp_path: Path) -> None:
    assert "\\x1b[2J" in refused(tmp_path / "\x1b[2J.py")[1]


def test_files_of_a_policy(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    entry = write(root / "policy.py", "")
    own = write(root / "teams/a.py", "")
    for name in (".env", ".git/config", "teams/.secret/a.py"):
        write(root / name, "")
    (root / "link.py").symlink_to(own)
    (root / "out.py").symlink_to(write(tmp_path / "out.py", ""))
    tree = locate(entry)
    assert all(tree.contains(str(file)) for file in (entry, own, root / "link.py"))
    others = [".env", ".git/config", "teams/.secret/a.py", "out.py", "teams", "none.py", "../out.py", "a\0b"]
    assert not any(tree.contains(f"{root}/{name}") for name in others)


def test_readable_files_of_a_policy(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    for name in ("policy.py", "teams/a.py", "teams/.env", "data/x/b.csv", ".git/config"):
        write(root / name, "")
    (root / "out").symlink_to("/etc")
    readable = readable_paths(str(root))
    for name in ("policy.py", "teams/a.py", "data/x/b.csv"):
        assert readable.may_read(f"{root}/{name}")
    for name in ("teams/.env", ".git/config", "../other", "out/passwd"):
        assert not readable.may_read(os.path.normpath(f"{root}/{name}"))
    assert readable.may_read(os.path.realpath(os.__file__))
    assert not readable.may_read("/etc/passwd")
    assert not readable.may_read(f"/proc/{os.getppid()}/environ")
    assert not readable.may_read(str(Path.home() / ".ssh/id_rsa"))
    assert readable.may_list(f"{root}/teams")
    assert not readable.may_list("/etc")
