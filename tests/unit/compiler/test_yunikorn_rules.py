"""YuniKorn's rules beyond its own tables: numbers, strict decoding, and ignored settings."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apportion_api.yunikorn.quantities import parse_quantity
from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_compiler.engines.yunikorn.rules import RULES


def _config_map(text: str, name: str = "yunikorn-configs") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "yunikorn"},
        "data": {"queues.yaml": text},
    }


def _verdicts(text: str) -> list[Verdict]:
    return list(RULES.check([_config_map(text)], []))


def _root(**root: Any) -> str:
    return yaml.safe_dump({"partitions": [{"name": "default", "queues": [{"name": "root", **root}]}]})


def _ignored(**root: Any) -> list[tuple[str, str]]:
    found = _verdicts(_root(**root))
    assert {verdict.effect for verdict in found} <= {Effect.IGNORED}
    return [(verdict.field.removeprefix('data["queues.yaml"].partitions[0].'), verdict.message) for verdict in found]


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("vcore", "10", 10_000),
        ("vcore", "500m", 500),
        ("vcore", " 2 k ", 2_000_000),
        ("vcore", "9223372036854775807m", 2**63 - 1),
        ("memory", "10G", 10**10),
        ("memory", "1Gi", 2**30),
        ("memory", "7Ei", 7 * 2**60),
        ("nvidia.com/gpu", "0", 0),
        ("cpu", "4", 4),
    ],
)
def test_quantities(resource: str, text: str, amount: int) -> None:
    assert parse_quantity(resource, text) == amount


@pytest.mark.parametrize(
    ("resource", "text", "fault"),
    [
        ("memory", "1.5Gi", "invalid quantity"),
        ("memory", "1e9", "invalid quantity"),
        ("memory", "-1", "invalid quantity"),
        ("memory", "+1", "invalid quantity"),
        ("memory", "", "invalid quantity"),
        ("memory", "500m", "invalid suffix"),
        ("memory", "1ki", "invalid suffix"),
        ("memory", "8Ei", "invalid quantity: overflow"),
        ("memory", "9" * 5000, "invalid quantity: overflow"),
        ("vcore", "9223372036854775807", "invalid quantity: overflow"),
        ("vcore", "1mi", "invalid suffix"),
        ("nvidia.com/gpu", "500m", "invalid suffix"),
        ("nvidia.com/gpu", "٣", "invalid quantity"),
    ],
)
def test_invalid_quantities_are_refused(resource: str, text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{fault}$"):
        parse_quantity(resource, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partitions: [{name: default, queues: [{nam: x}]}]", "field nam not found in type configs.QueueConfig"),
        ("partitions: [{name: a, name: b}]", 'mapping key "name" already defined at line 1'),
        ("partitions: {}", "cannot unmarshal !!map into []configs.PartitionConfig"),
        ("partitions: [{queues: [{name: x, maxapplications: -1}]}]", "cannot unmarshal !!int `-1` into uint64"),
        ("partitions: [{queues: [{name: x, parent: 1}]}]", "cannot unmarshal !!int `1` into bool"),
        ("partitions: *nobody", "unknown anchor 'nobody' referenced"),
        ("partitions: [", "did not find expected node content"),
        ("a: &a [*a]", "field a not found in type configs.SchedulerConfig"),
        ("partitions: &a [*a]", "anchor value contains itself"),
    ],
)
def test_decoding_is_strict(text: str, message: str) -> None:
    (verdict,) = _verdicts(text)
    assert verdict.effect is Effect.REJECTED
    assert message in verdict.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "partitions:",
        "partitions: [{name: default, queues: []}]",
        "partitions: [{queues: [{name: 123, parent: yes, maxapplications: 0x10}]}]",
        "partitions: [{queues: [&b {name: a}, {<<: *b, name: c}]}]",
        "partitions: []\n---\nsecond: document",
    ],
)
def test_valid_configurations_pass(text: str) -> None:
    assert [verdict for verdict in _verdicts(text) if verdict.effect is Effect.REJECTED] == []


def test_fault_has_the_path_of_the_queue() -> None:
    (verdict,) = _verdicts(_root(queues=[{"name": "a"}, {"name": "b", "resources": {"max": {"memory": "1.5G"}}}]))
    assert verdict.field == 'data["queues.yaml"].partitions[0].queues[0].queues[1].resources.max.memory'


def test_compressed_configuration_is_read() -> None:
    packed = base64.b64encode(gzip.compress(b"partitions: [{name: default}]")).decode()
    manifest = {**_config_map(""), "data": {}, "binaryData": {"queues.yaml.gz": packed}}
    (verdict,) = RULES.check([manifest], [])
    assert (verdict.field, verdict.message) == ('binaryData["queues.yaml.gz"].partitions[0]', "queue config is not set")
    (unreadable,) = RULES.check([{**manifest, "binaryData": {"queues.yaml.gz": "rubbish"}}], [])
    assert unreadable.effect is Effect.IGNORED


def test_policy_group_selects_configuration_key() -> None:
    manifest = {**_config_map(""), "data": {"service.policyGroup": "night", "night.yaml": "bogus: 1"}}
    (verdict,) = RULES.check([manifest], [])
    assert verdict.field == 'data["night.yaml"]'


def test_other_config_maps_are_ignored() -> None:
    assert list(RULES.check([_config_map("bogus: 1", "somebodys")], [])) == []


def test_ineffective_settings_are_reported() -> None:
    below = {"name": "root", "maxapplications": 3}
    nothing = {"name": "a", "resources": {"max": {"vcore": "0", "memory": "0"}}}
    assert _ignored(maxapplications=5, queues=[{"name": "x", "maxapplications": 1}]) == [
        ("queues[0].maxapplications", "YuniKorn ignores maxapplications on the root queue")
    ]
    assert _ignored(queues=[below, nothing]) == [
        (
            "queues[0].queues[0]",
            "YuniKorn ignores resources and maxapplications on queues named root",
        ),
        ("queues[0].queues[1].resources.max", "YuniKorn treats a maximum of zero for every resource as unset"),
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("application.sort.policy", "stateaware"),
        ("application.sort.policy", "Fair"),
        ("application.sort.priority", "no"),
        ("priority.offset", "2147483648"),
        ("priority.offset", "1.5"),
        ("priority.policy", "fenced"),
        ("preemption.policy", "off"),
        ("preemption.delay", "0s"),
        ("preemption.delay", "soon"),
        ("quota.preemption.delay", "10m"),
        ("application.unschedasks.backoff", "-1"),
        ("preemption.dealy", "10s"),
    ],
)
def test_unknown_properties_are_reported(key: str, value: str) -> None:
    ((field, _),) = _ignored(properties={key: value})
    assert field == f"queues[0].properties[{key}]"


def test_effective_properties_pass() -> None:
    held = {
        "application.sort.policy": "fair",
        "application.sort.priority": "Disabled",
        "priority.offset": "-5",
        "priority.policy": "FENCE",
        "preemption.policy": "disabled",
        "preemption.delay": "1m30s",
        "team": "vision",
    }
    assert _ignored(properties=held) == []


def test_access_list_with_two_spaces_is_reported() -> None:
    ((field, message),) = _ignored(submitacl="ann  ops")
    assert (field, "fails to load" in message) == ("queues[0].submitacl", True)
    assert _ignored(submitacl="ann ops", adminacl=" admins") == []
    assert [field for field, _ in _ignored(submitacl="system:serviceaccount:a:b")] == ["queues[0].submitacl"]


def test_unused_partitions_and_invalid_rules_are_reported() -> None:
    text = yaml.safe_dump(
        {
            "partitions": [
                {"name": "gpu", "queues": [{"name": "a"}]},
                {"name": "default", "queues": [{"name": "a"}], "placementrules": [{"name": "fixd"}, {"name": "tag"}]},
            ]
        }
    )
    fields = [verdict.field.removeprefix('data["queues.yaml"].') for verdict in _verdicts(text)]
    assert fields == ["partitions[0]", "partitions[1].placementrules[0]", "partitions[1].placementrules[1]"]


def test_invalid_boolean_annotation_is_reported() -> None:
    cls = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "a", "annotations": {"yunikorn.apache.org/allow-preemption": "no"}},
        "value": 1,
    }
    (verdict,) = RULES.check([cls], [])
    assert verdict.effect is Effect.IGNORED


_WORDS = st.sampled_from(
    [
        *("name", "queues", "partitions", "limits", "users", "groups", "maxresources", "maxapplications", "resources"),
        *(
            "guaranteed",
            "max",
            "parent",
            "properties",
            "placementrules",
            "fixed",
            "tag",
            "value",
            "root",
            "default",
            "*",
        ),
        *(
            "nodesortpolicy",
            "type",
            "resourceweights",
            "filter",
            "create",
            "preemption",
            "enabled",
            "vcore",
            "<<",
            "a.b",
        ),
    ]
)
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _WORDS | st.text(max_size=8)
_TREES = st.recursive(
    _SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_WORDS, below, max_size=4),
    max_leaves=30,
)


@pytest.mark.property
@given(_TREES)
def test_rules_never_raise_for_any_configuration(tree: object) -> None:
    list(RULES.check([_config_map(yaml.safe_dump({"partitions": [tree]}))], []))
    list(RULES.check([_config_map(yaml.safe_dump(tree))], []))


@pytest.mark.property
@given(st.text(alphabet=st.sampled_from("partitions: [{}]-&*!|>'\"%@`\n\t#<,?~0.9aé\x00\ud800"), max_size=60))
def test_rules_never_raise_for_any_text(text: str) -> None:
    list(RULES.check([_config_map(text)], []))


@pytest.mark.property
@given(_TREES)
def test_rules_never_raise_for_any_object(tree: object) -> None:
    list(
        RULES.check(
            [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-configs"}, "data": tree}], []
        )
    )
    list(RULES.check([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree, "binaryData": tree}], []))
    list(RULES.check([{"kind": "PriorityClass", "metadata": tree}], []))
