"""Recorded timelines of YuniKorn's core, run on the simulated core."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.conformance.yunikorn_cases import replay

KEYS = ("allocated", "apps", "evicted", "rejected", "reserved")


def agrees(case: Mapping[str, Any]) -> bool:
    """Return whether the simulated core decides as in one of the recorded outcomes."""
    found = replay({**case, "config": json.dumps(case["config"])})
    return [{key: state[key] for key in KEYS if state[key]} for state in found] in case["outcomes"]
