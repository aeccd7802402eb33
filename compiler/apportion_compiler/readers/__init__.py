"""One module for each engine: its objects in, the queues of the IR out. `record.py` says what comes back."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.readers import ack, kai, koordinator, kueue, native, volcano, yunikorn
from apportion_compiler.readers.record import Reader

READERS: Mapping[str, Reader] = {
    "ack": ack.READER,
    "kai": kai.READER,
    "koordinator": koordinator.READER,
    "kueue": kueue.READER,
    "native": native.READER,
    "volcano": volcano.READER,
    "yunikorn": yunikorn.READER,
}
"""Readers by the engine's name."""
