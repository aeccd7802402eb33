"""The list of engines. Each has a package in `apportion_compiler.engines`."""

from __future__ import annotations

from enum import Enum


class Engine(str, Enum):
    """The scheduler or queueing engine of a cluster."""

    KAI = "kai"
    KUEUE = "kueue"
    VOLCANO = "volcano"
    KOORDINATOR = "koordinator"
    ACK = "ack"
    YUNIKORN = "yunikorn"
    NATIVE = "native"
