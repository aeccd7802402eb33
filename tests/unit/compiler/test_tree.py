"""Rendered trees: the same objects give the same bytes, and what is no longer made is listed and removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from apportion_compiler.backends.capability import Artifact, Manifest, Output
from apportion_compiler.dumper import dump_all
from apportion_compiler.emit.disk import compare, former_objects, write
from apportion_compiler.emit.tree import dump_documents, object_key, render_target


def _queue(name: str, **spec: object) -> Manifest:
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


IDENTITY = {"organisation": "acme", "environment": "prod"}


def _files(*manifests: Manifest, formerly: Path | None = None) -> dict[str, bytes]:
    output = Output(manifests, (Artifact("values.yaml", "a: 1\n"),))
    return render_target(output, IDENTITY, former_objects(formerly) if formerly is not None else ())


def test_files_stand_in_apply_order() -> None:
    files = _files(_namespace("a"), _queue("a"), _queue("b"))
    assert yaml.safe_load(files["kustomization.yaml"])["resources"] == ["10-namespace.yaml", "20-queue.yaml"]
    assert [d["metadata"]["name"] for d in yaml.safe_load_all(files["20-queue.yaml"])] == ["a", "b"]
    assert [o["name"] for o in json.loads(files["inventory.json"])["objects"]] == ["a", "a", "b"]
    assert files["prune-allowlist.txt"] == b"core/v1/Namespace\nscheduling.run.ai/v2/Queue\n"
    assert files["values.yaml"] == b"a: 1\n"


def test_a_tree_without_objects_has_no_kustomization() -> None:
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


def test_an_object_that_is_gone_stays_on_the_prune_list_until_it_comes_back(tmp_path: Path) -> None:
    def pruned() -> list[str]:
        return [entry["name"] for entry in json.loads((tmp_path / "prune.json").read_bytes())["objects"]]

    write(tmp_path, _files(_namespace("n"), _queue("a"), _queue("b")))
    for _ in range(2):
        write(tmp_path, _files(_namespace("n"), formerly=tmp_path))
        assert pruned() == ["b", "a"]
    assert not (tmp_path / "20-queue.yaml").exists()
    write(tmp_path, _files(_namespace("n"), _queue("a"), formerly=tmp_path))
    assert pruned() == ["b"]


def test_files_that_apportion_did_not_write_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, _files(_queue("a")))
    (tmp_path / "notes.md").write_text("mine")
    write(tmp_path, _files(_namespace("a"), formerly=tmp_path))
    assert (tmp_path / "notes.md").read_text() == "mine"


def test_an_inventory_cannot_name_a_file_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    tree = tmp_path / "tree"
    write(tree, _files(_queue("a")))
    inventory = json.loads((tree / "inventory.json").read_bytes())
    inventory["files"] += ["../outside.txt", str(outside)]
    (tree / "inventory.json").write_text(json.dumps(inventory))
    write(tree, _files(_queue("a"), formerly=tree))
    assert outside.read_text() == "mine"


def test_a_hand_edit_shows_as_a_change(tmp_path: Path) -> None:
    files = _files(_queue("a"))
    write(tmp_path, files)
    (tmp_path / "10-queue.yaml").write_text("edited")
    assert compare(tmp_path, files).changed == ("10-queue.yaml",)


def test_a_broken_inventory_is_named(tmp_path: Path) -> None:
    (tmp_path / "inventory.json").write_text("{")
    with pytest.raises(ValueError, match="not an inventory"):
        former_objects(tmp_path)


def test_keys_tell_namespaces_apart() -> None:
    first, second = _namespace("a"), {**_namespace("a"), "metadata": {"name": "a", "namespace": "x"}}
    assert object_key(first) != object_key(second)


_SCALARS = st.one_of(
    st.text(max_size=20),
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False),
    st.sampled_from(["on", "1", "0x1", "~", "12:30", ""]),
)
_DOCUMENTS = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=20
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text(max_size=8), _DOCUMENTS, max_size=4), min_size=1, max_size=3))
@example([{"a": 0.0, "b": -0.0, "c": 0, "d": False}])
def test_the_emitter_writes_what_pyyaml_s_dumper_writes(documents: list[dict[str, object]]) -> None:
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
