"""What the scheduler reports when it cannot watch its cluster."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.object_cache import ObjectCache

from .scheduler_thread import until


@pytest.mark.parametrize(
    ("failed", "fault"),
    [
        (Unreachable("cannot reach https://one: refused"), "cannot reach https://one: refused"),
        (Refused(401, "Unauthorized"), "the API server rejects the credentials of this scheduler: Unauthorized"),
    ],
)
def test_fault_of_the_connection_is_one_fault_for_all_kinds(failed: Exception, fault: str) -> None:
    class Failing(Connection):
        def __init__(self) -> None:
            """No server is reached."""

        def request(self, *_: object, **__: object) -> dict[str, Any]:
            raise failed

    faults: list[str] = []
    cache = ObjectCache(Failing(), on_fault=faults.append)
    with pytest.raises(Unreachable):
        cache.start(0)
    until(lambda: cache.faults.keys() == cache.kinds.keys())
    with pytest.raises(Unreachable) as raised:
        cache.start(0)
    cache.stop()
    assert str(raised.value) == fault
    assert set(faults) == {fault}
