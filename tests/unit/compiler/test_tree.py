"""Rendered trees: the same objects give the same bytes, and former objects are listed and removed."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from apportion_compiler.backends.capability import Artifact, Manifest, Output
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.dumper import dump_all
from apportion_compiler.emit.output_folder import LinkedPathError, open_output, write_file
from apportion_compiler.emit.tree import dump_documents, object_key, render_target
from apportion_compiler.emit.tree_files import (
    TreeChange,
    compare_tree,
    entries_outside,
    former_objects,
    is_generated,
    remove_former_files,
    stage_tree,
)


def _queue(name: str, **spec: object) -> Manifest:
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


TREE = "prod/main/kai"
GOLDEN = Path(__file__).parents[2] / "golden"
IDENTITY = {"organisation": "acme", "environment": "prod"}


VALUES = f"# {GENERATED}\na: 1\n"


def _files(*manifests: Manifest, formerly: Path | None = None) -> dict[str, bytes]:
    output = Output(manifests, (Artifact("values.yaml", VALUES),))
    if formerly is None:
        return render_target(output, IDENTITY)
    with open_output(formerly, writing=False) as folder:
        return render_target(output, IDENTITY, former_objects(folder, TREE))


def compare(out: Path, files: dict[str, bytes]) -> TreeChange:
    with open_output(out, writing=False) as folder:
        return compare_tree(folder, TREE, files)


def write(out: Path, files: dict[str, bytes]) -> TreeChange:
    with open_output(out, writing=True) as folder:
        assert folder is not None
        change = compare_tree(folder, TREE, files)
        stage_tree(folder, TREE, files, change)
        folder.commit()
        remove_former_files(folder, TREE, change)
    return change


def test_files_stand_in_apply_order() -> None:
    files = _files(_namespace("a"), _queue("a"), _queue("b"))
    assert yaml.safe_load(files["kustomization.yaml"])["resources"] == ["10-namespace.yaml", "20-queue.yaml"]
    assert [d["metadata"]["name"] for d in yaml.safe_load_all(files["20-queue.yaml"])] == ["a", "b"]
    assert [o["name"] for o in json.loads(files["inventory.json"])["objects"]] == ["a", "a", "b"]
    assert files["prune-allowlist.txt"] == b"scheduling.run.ai/v2/Queue\n"
    assert files["values.yaml"] == VALUES.encode()


def test_tree_without_objects_has_no_kustomization() -> None:
    """kustomize refuses one that lists nothing."""
    assert "kustomization.yaml" not in _files()


def test_shared_values_are_written_out_in_full() -> None:
    shared = {"quota": -1}
    text = dump_documents([_queue("a", cpu=shared, gpu=shared)]).decode()
    assert "&id" not in text
    assert "*id" not in text


def test_writing_twice_changes_nothing_the_second_time(tmp_path: Path) -> None:
    assert write(tmp_path, _files(_queue("a"))).added
    assert write(tmp_path, _files(_queue("a"), formerly=tmp_path)).is_empty


def test_removed_object_stays_on_prune_list_until_declared_again(tmp_path: Path) -> None:
    def pruned() -> list[str]:
        return [entry["name"] for entry in json.loads((tmp_path / TREE / "prune.json").read_bytes())["objects"]]

    write(tmp_path, _files(_namespace("n"), _queue("a"), _queue("b")))
    for _ in range(2):
        write(tmp_path, _files(_namespace("n"), formerly=tmp_path))
        assert pruned() == ["b", "a"]
    assert not (tmp_path / TREE / "20-queue.yaml").exists()
    write(tmp_path, _files(_namespace("n"), _queue("a"), formerly=tmp_path))
    assert pruned() == ["b"]


def test_namespace_is_retained_and_not_pruned(tmp_path: Path) -> None:
    """Its deletion would take every claim and secret in it along."""
    write(tmp_path, _files(_namespace("n"), _queue("a")))
    files = _files(formerly=tmp_path)
    prune = json.loads(files["prune.json"])
    assert [entry["kind"] for entry in prune["objects"]] == ["Queue"]
    assert prune["retained"] == [{"apiVersion": "v1", "kind": "Namespace", "name": "n"}]
    assert b"Namespace" not in files["prune-allowlist.txt"]


def test_files_that_apportion_did_not_write_are_kept_and_named(tmp_path: Path) -> None:
    write(tmp_path, _files(_queue("a")))
    (tmp_path / TREE / "notes.md").write_text("mine")
    (tmp_path / "prod" / "README").write_text("mine")
    change = write(tmp_path, _files(_namespace("a"), formerly=tmp_path))
    assert (tmp_path / TREE / "notes.md").read_text() == "mine"
    assert change.foreign == ("notes.md",)
    with open_output(tmp_path, writing=False) as folder:
        assert entries_outside(folder, [TREE]) == ("prod/README",)


@pytest.mark.parametrize("named", ["notes.md", "../../../outside.txt", "{outside}"])
def test_inventory_cannot_list_foreign_files(tmp_path: Path, named: str) -> None:
    outside, out = tmp_path / "outside.txt", tmp_path / "rendered"
    outside.write_text("mine")
    write(out, _files(_queue("a")))
    (out / TREE / "notes.md").write_text("mine")
    inventory = json.loads((out / TREE / "inventory.json").read_bytes())
    inventory["files"].append(named.format(outside=outside))
    (out / TREE / "inventory.json").write_text(json.dumps(inventory, indent=1))
    write(out, _files(_queue("a"), formerly=out))
    assert outside.read_text() == (out / TREE / "notes.md").read_text() == "mine"


def test_symlink_in_tree_is_not_followed(tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", tmp_path / "rendered"
    victim.mkdir()
    (victim / "id").write_text("mine")
    write(out, _files(_queue("a")))
    (out / TREE / "10-queue.yaml").unlink()
    (out / TREE / "10-queue.yaml").symlink_to(victim / "id")
    (out / TREE / "l").symlink_to(victim)
    assert compare(out, _files(_queue("a"))).changed == ("10-queue.yaml",)
    assert write(out, _files(_queue("a"))).foreign == ("l",)
    assert not (out / TREE / "10-queue.yaml").is_symlink()
    assert [file.name for file in victim.iterdir()] == ["id"]
    assert (victim / "id").read_text() == "mine"


@pytest.mark.parametrize("linked", ["rendered", "rendered/prod", "rendered/prod/main/kai"])
def test_symlinked_folder_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    project = tmp_path / "project"
    link = project / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    monkeypatch.chdir(project)
    with pytest.raises(LinkedPathError, match="is a symbolic link"):
        write(project / "rendered", _files(_queue("a")))
    assert not any(victim.iterdir())


def test_name_outside_tree_is_rejected(tmp_path: Path) -> None:
    with open_output(tmp_path / "rendered", writing=True) as folder:
        assert folder is not None
        with pytest.raises(LinkedPathError, match="is not a valid file or folder name"):
            folder.stage("../escape/a.yaml", b"")
    assert not (tmp_path / "escape").exists()


def test_failed_write_leaves_tree_unchanged(tmp_path: Path) -> None:
    """Nothing is put in its place before everything is written, as on a full disk."""
    write(tmp_path, _files(_queue("a")))
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with open_output(tmp_path, writing=True) as folder:
        assert folder is not None
        folder.stage(f"{TREE}/10-queue.yaml", b"new")
        folder.stage("prod/other/kai/10-queue.yaml", b"new")
        with pytest.raises(LinkedPathError, match="is a folder"):
            folder.stage("prod/main", b"new")
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert not (tmp_path / "prod" / "other").exists()


def test_report_is_not_written_through_symlink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "report.sarif").symlink_to(victim)
    with pytest.raises(LinkedPathError, match="a symbolic link"):
        write_file(Path("report.sarif"), b"report")
    assert victim.read_text() == "mine"
    write_file(Path("report.json"), b"report")
    assert (tmp_path / "report.json").read_bytes() == b"report"


def test_manual_edit_is_reported_as_change(tmp_path: Path) -> None:
    files = _files(_queue("a"))
    write(tmp_path, files)
    (tmp_path / TREE / "10-queue.yaml").write_text("edited")
    assert compare(tmp_path, files).changed == ("10-queue.yaml",)


def test_edited_prune_list_is_reported_as_change(tmp_path: Path) -> None:
    write(tmp_path, _files(_queue("a")))
    prune = tmp_path / TREE / "prune.json"
    forged = json.loads(prune.read_bytes())
    forged["objects"].append({"apiVersion": "v1", "kind": "Secret", "namespace": "kube-system", "name": "token"})
    prune.write_text(json.dumps(forged, indent=1))
    assert not compare(tmp_path, _files(_queue("a"), formerly=tmp_path)).is_empty


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"objects": {}}', '{"objects": [1]}', '{"objects": [{"kind": "Queue"}]}', "[" * 100_000],
)
def test_malformed_inventory_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / TREE).mkdir(parents=True)
    (tmp_path / TREE / "inventory.json").write_text(text)
    with pytest.raises(ValueError, match=r"^inventory\.json"), open_output(tmp_path, writing=False) as folder:
        former_objects(folder, TREE)


def test_every_file_of_a_tree_is_recognised_as_written_by_apportion() -> None:
    rendered = sorted(path for path in GOLDEN.glob("*/expected/**/*") if path.is_file())
    assert [path for path in rendered if not is_generated(path.read_bytes())] == []


def test_keys_distinguish_namespaces() -> None:
    first, second = _namespace("a"), {**_namespace("a"), "metadata": {"name": "a", "namespace": "x"}}
    assert object_key(first) != object_key(second)


_SCALARS = st.one_of(
    st.text(max_size=20),
    # Around the width at which the emitter folds lines, as plain and quoted scalars.
    st.text("ab ", min_size=100, max_size=140),
    st.text("a' #:\t\u00e9\u2028", max_size=130),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,9}", fullmatch=True),
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False),
    st.sampled_from(["on", "1", "0x1", "~", "12:30", "", "1e3", "1.5", "1_000", "2026-11-30", "null", "No", "y", "."]),
)
_KEYS = st.text(max_size=8) | st.sampled_from(["on", "1", "null", "1.5"]) | st.text("ab ", min_size=100, max_size=140)
_DOCUMENTS = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=20
)


@given(st.lists(st.dictionaries(_KEYS, _DOCUMENTS, max_size=4) | _DOCUMENTS, min_size=1, max_size=3))
@example([{"a": 0.0, "b": -0.0, "c": 0, "d": False}])
@example([{"a": {"b": "\u2028"}}])
@example([{"a": ["\n"]}, {"b": 1}])
def test_emitter_output_equals_pyyaml(documents: list[object]) -> None:
    assert dump_all(documents) == yaml.dump_all(
        documents,
        Dumper=_WithoutAnchors,
        sort_keys=False,
        explicit_start=True,
        default_flow_style=False,
        width=120,
        allow_unicode=True,
    )


@given(st.dictionaries(st.text(max_size=8), _DOCUMENTS, max_size=4))
def test_what_is_written_reads_back(document: dict[str, object]) -> None:
    assert yaml.load(dump_all([document]), yaml.CSafeLoader) == document


class _WithoutAnchors(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_WithoutAnchors.add_representer(str, _WithoutAnchors.represent_text)


def test_more_files_than_a_process_may_open_are_staged(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limits[0]), limits[1]))
    try:
        with open_output(tmp_path / "out", writing=True) as folder:
            assert folder is not None
            for number in range(400):
                folder.stage(f"kind/{number}.yaml", b"text")
            folder.commit()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(list((tmp_path / "out" / "kind").iterdir())) == 400
