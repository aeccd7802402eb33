"""The engines: adding one starts with a line here, and its folder in `apportion_compiler.engines`."""

from __future__ import annotations

from enum import Enum


class Engine(str, Enum):
    """Who decides on a cluster which workload runs."""

    KAI = "kai"
    KUEUE = "kueue"
    VOLCANO = "volcano"
    KOORDINATOR = "koordinator"
    ACK = "ack"
    YUNIKORN = "yunikorn"
    NATIVE = "native"
