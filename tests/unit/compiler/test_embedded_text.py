"""Untrusted text in manifests: any fault is reported, and nothing crashes."""

from __future__ import annotations

import pytest

from apportion_api.embedded_json import json_value
from apportion_compiler.embedded_text import yaml_value
from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.manifests.manifest_parser import read_manifests
from apportion_policy.documents import MAX_DEPTH

# libyaml crashes with a tenth of this: it recurses for each level, until the stack overflows.
DEEP = "[" * 200_000


@pytest.mark.parametrize("written", [DEEP, "{a: [}", "a: 2001-13-45", "\x00", "!!python/object:os.system {}", "*a"])
def test_invalid_yaml_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        yaml_value(written)


@pytest.mark.parametrize("written", [DEEP, "", "{'a': 1}", "9" * 5000])
def test_invalid_json_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_value(written)


def test_documents_up_to_the_depth_limit_are_read() -> None:
    assert yaml_value("a: {b: [1]}") == {"a": {"b": [1]}}
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert yaml_value(deepest) == json_value(deepest)
    with pytest.raises(ValueError, match="nested deeper than 200 levels"):
        yaml_value(f"[{deepest}]")


def test_too_deep_manifest_is_refused_with_its_line() -> None:
    read = read_manifests(f"apiVersion: v1\nkind: ConfigMap\ndata: {DEEP}", "mine.yaml")
    assert [(fault.at.line, fault.message) for fault in read.faults] == [
        (3, "the document is nested deeper than 200 levels")
    ]


@pytest.mark.parametrize(
    ("engine", "key"),
    [
        ("yunikorn", "queues.yaml"),
        ("volcano", "volcano-scheduler.conf"),
        ("koordinator", "koord-scheduler-config"),
    ],
)
@pytest.mark.parametrize("inner", [DEEP, "a: 2001-13-45"])
def test_unreadable_engine_configuration_is_reported(engine: str, key: str, inner: str) -> None:
    names = {"yunikorn": "yunikorn-configs", "koordinator": key, "volcano": "volcano-scheduler-configmap"}
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {names[engine]}, namespace: x}}\ndata:\n  {key}: |\n    {inner}\n"
    (placed,) = read_manifests(text, "mine.yaml").objects
    effects = {verdict.effect for verdict in ENGINE_RULES[engine].check([placed.manifest], ())}
    assert effects <= {Effect.REJECTED, Effect.IGNORED}
    assert placed.at(f"data[{key}].partitions[0]").line == 5
