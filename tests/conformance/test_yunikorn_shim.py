"""Pods are read as YuniKorn's own shim reads them: see yunikorn-shim/README.md."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.engines.yunikorn.pods import (
    TaskGroup,
    accepts_preemption,
    application_id,
    gang_style_of,
    pod_amounts,
    queue_named,
    required_node_of,
    task_group_of,
    task_groups_of,
    user_of,
)

DATA = Path(__file__).parent / "yunikorn-shim" / "pods.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_pod_is_read_as_by_the_shim(case: dict[str, Any]) -> None:
    pod, expected = case["pod"], case["expected"]
    classes = {each["metadata"]["name"]: each for each in case["classes"]}
    found: dict[str, Any] = {
        "amounts": pod_amounts(pod["spec"]),
        "required_node": required_node_of(pod),
        "accepts_preemption": accepts_preemption(pod, classes),
    }
    if "application" in expected:
        style = gang_style_of(pod)
        groups: tuple[TaskGroup, ...] = ()
        is_invalid = False
        try:
            groups = task_groups_of(pod)
        except ValueError:
            is_invalid = True
        found |= {
            "application": application_id(pod),
            "queue": queue_named(pod),
            "user": user_of(pod),
            "task_group": task_group_of(pod),
            "style": style.style,
            "timeout_s": style.timeout_s,
            "forced": bool(pod["spec"].get("nodeName")),
            "is_invalid": is_invalid,
            "task_groups": [
                {
                    "name": group.name,
                    "members": group.n_members,
                    "amounts": group.amounts,
                    "accepts_preemption": accepts_preemption(
                        {**pod, "metadata": {"annotations": group.annotations}}, classes
                    ),
                }
                for group in groups
            ],
        }
    assert found == expected
