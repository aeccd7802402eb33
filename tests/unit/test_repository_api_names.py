"""API versions, label and annotation keys of engines are defined once, in `apportion_api`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("api", "policy", "compiler", "runtime", "review", "cli")
DOMAINS = (
    "kai.scheduler", "scheduling.run.ai", "kueue.x-k8s.io", "volcano.sh", "koordinator.sh", "yunikorn.apache.org",
    "scheduling.x-k8s.io", "scheduling.sigs.k8s.io", "quota.scheduling.alibabacloud.com", "kube-queue", "nvidia.com",
    "amd.com", "training.kubeflow.org", "leaderworkerset.sigs.k8s.io", "jobset.sigs.k8s.io",
)  # fmt: skip
KEY = re.compile(rf"([\w.-]+\.)?({'|'.join(map(re.escape, DOMAINS))})/[\w.-]+/?")


def _keys(path: Path) -> Iterator[str]:
    """Yield the whole texts that are a key or an API version."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and KEY.fullmatch(node.value):
            yield node.value


def test_api_keys_are_defined_once() -> None:
    modules: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for key in _keys(path):
                modules.setdefault(key, set()).add(path.relative_to(ROOT).as_posix())

    assert {key: sorted(names) for key, names in modules.items() if len(names) > 1} == {}
