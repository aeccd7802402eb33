"""AP117 covers every way in which a queue can claim a namespace."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.compile import check_policy
from apportion_policy import Organisation, Policy, Queue
from apportion_policy.kueue_objects import KueueLocalQueue, KueueQueue


@pytest.mark.parametrize(
    "queue",
    [
        Queue(id="a", namespaces=("kube-system",)),
        Queue(id="a", namespaces=("kube-system",), external_namespaces=("kube-system",)),
        Queue(id="a", kueue=KueueQueue(local_queues=(KueueLocalQueue(name="a", namespace="kube-system"),))),
    ],
    ids=["own", "external", "local queue"],
)
def test_reserved_namespace_is_rejected(queue: Queue) -> None:
    checked = check_policy(Policy(organisation=Organisation(name="acme"), queues=(queue,)), date(2026, 1, 1))
    assert [finding.rule.code for finding in checked.diagnostics if finding.rule.required] == ["AP117"]
