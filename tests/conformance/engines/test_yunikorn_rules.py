"""YuniKorn's own decision tables: the checks accept and reject the same configurations, with the same messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from apportion_api.yunikorn.configuration import partition_of, placement_rule_of, queue_of
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.yunikorn.rules import RULES
from apportion_compiler.engines.yunikorn.rules.config import check_node_sort_policy, parse_config
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.limits import (
    check_limit_max_applications,
    check_limit_resources,
    check_limits,
)
from apportion_compiler.engines.yunikorn.rules.placement import check_placement_rule, check_placement_rules
from apportion_compiler.engines.yunikorn.rules.queues import (
    check_max_applications,
    check_queue_resources,
    check_queues,
    with_root,
)

TABLES = Path(__file__).parent / "yunikorn"
FILES: list[dict[str, Any]] = json.loads((TABLES / "queues-yaml.json").read_text(encoding="utf-8"))
PARTS: list[dict[str, Any]] = json.loads((TABLES / "partial-checks.json").read_text(encoding="utf-8"))

CHECKS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "checkQueueResource": lambda config: check_queue_resources(queue_of(config)),
    "checkQueueMaxApplications": lambda config: check_max_applications(queue_of(config)),
    "checkLimitResource": lambda config: check_limit_resources(queue_of(config)),
    "checkLimitMaxApplications": lambda config: check_limit_max_applications(queue_of(config)),
    "checkLimits": lambda config: check_limits(queue_of(config).limits, queue_of(config)),
    # YuniKorn counts from 1, its tests from 0.
    "checkQueues": lambda config: check_queues(queue_of(config), 0),
    "checkQueuesStructure": lambda config: with_root(partition_of(config)),
    "checkPlacementRule": lambda config: check_placement_rule(placement_rule_of(config)),
    "checkPlacementRules": lambda config: check_placement_rules(partition_of(config)),
    "checkNodeSortingPolicy": lambda config: check_node_sort_policy(partition_of(config)),
}


def test_number_of_cases() -> None:
    assert (len(FILES), len(PARTS)) == (69, 104)
    assert {case["check"] for case in PARTS} == CHECKS.keys()


@pytest.mark.parametrize("case", FILES, ids=lambda case: case["name"])
def test_file_verdict_matches_yunikorn(case: Mapping[str, Any]) -> None:
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"},
        "data": {"queues.yaml": case["yaml"]},
    }
    rejected = [verdict for verdict in RULES.check([config_map], []) if verdict.effect is Effect.REJECTED]
    assert [verdict.message for verdict in rejected] == ([] if case["valid"] else [case["error"]])
    assert all(verdict.field.startswith('data["queues.yaml"]') and verdict.index == 0 for verdict in rejected)


def test_root_queue_in_upper_case_is_rejected_when_the_partition_is_created() -> None:
    with pytest.raises(ConfigRefusedError, match="partition cannot be created without root queue") as refused:
        parse_config("partitions: [{name: default, queues: [{name: Root, queues: [{name: a}]}]}]")
    assert refused.value.path == "partitions[0].queues[0].name"


@pytest.mark.parametrize("case", PARTS, ids=lambda case: case["name"].replace("/", "-"))
def test_part_verdict_matches_yunikorn(case: Mapping[str, Any]) -> None:
    assert _refusal(case) == (None if case["valid"] else case["error"])


def _refusal(case: Mapping[str, Any]) -> str | None:
    config = {key: value for key, value in case["config"].items() if value != []}
    try:
        CHECKS[case["check"]](config)
    except ConfigRefusedError as refused:
        return refused.message
    return None
