"""Job admission on an API server in this process, and what it has done to the jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler_process import Options

from .ack_objects import JOBS, UNITS
from .api_server import ApiServer, running
from .scheduler_thread import scheduling, until

OPTIONS = Options("kai-scheduler", period_s=0.02, releases_jobs=True)
Object = dict[str, Any]


@contextmanager
def admitting(server: ApiServer, log: list[str], options: Options = OPTIONS) -> Iterator[Counters]:
    counters = Counters()
    with running(server) as connection, scheduling(connection, options, log.append, counters=counters):
        yield counters


def released(server: ApiServer) -> set[str]:
    """Return the jobs that are not suspended."""
    kinds = ("/jobs/", "/rayjobs/")
    held = [one for path, one in list(server.held.items()) if any(kind in path for kind in kinds)]
    return {one["metadata"]["name"] for one in held if not one["spec"].get("suspend")}


def events(server: ApiServer, reason: str) -> list[tuple[str, str]]:
    """Return the objects and messages of the events with a reason."""
    sent = [one.body for one in server.written("POST", "/events")]
    return [(one["involvedObject"]["name"], one["message"]) for one in sent if one["reason"] == reason]


def change(server: ApiServer, path: str, edit: Callable[[Object], Object]) -> None:
    with server.changed:
        server.put(path, edit(server.held[path]), "MODIFIED")


def complete(server: ApiServer, name: str, namespace: str = "video") -> None:
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    change(server, JOBS.format(namespace, name), lambda one: {**one, "status": done})


def unit(server: ApiServer, name: str, namespace: str = "video") -> Object:
    return server.held[UNITS.format(namespace, name)]


def read_units(server: ApiServer, waits: str, log: list[str]) -> None:
    """Wait until the scheduler has read all changes of QueueUnits: it creates a deleted one again, that of a waiting job.

    Each kind has a watch of its own, so a later change of a job may be read first.
    """
    path = UNITS.format("video", waits)
    server.remove(path)
    until(lambda: path in server.held, log)


class Starting(ApiServer):
    """The pods of a job are ready as soon as it is released for the last time, of `n_releases`."""

    def __init__(self, n_releases: int = 1, **status: int) -> None:
        super().__init__()
        self._n_left = n_releases
        self._status = status or {"ready": 1, "active": 1}

    def put(self, path: str, made: Object, event: str = "ADDED") -> Object:
        with self.changed:
            before = self.held.get(path, {"spec": {}})
            if "/jobs/" in path and before["spec"].get("suspend") and not made["spec"].get("suspend"):
                self._n_left -= 1
                if self._n_left == 0:
                    made = {**made, "status": self._status}
            return super().put(path, made, event)
