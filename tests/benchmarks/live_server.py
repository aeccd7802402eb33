"""A real API server for the live scheduler's benchmarks: the requests that load it, and schedulers that run beside it."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..e2e.control_plane import ControlPlane, control_plane
from ..e2e.processes import Running, free_ports
from .live_objects import PODS, SCHEDULER, Object, Request

_THREADS = 8
_CRDS = Path(__file__).parents[1] / "crds" / "kai"
_QPS = 5000
Command = tuple[str | Path, ...]


@dataclass(frozen=True, slots=True)
class Server:
    """An API server on loopback, as its administrator sees it."""

    plane: ControlPlane
    token: str

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection."""
        context = ssl.create_default_context(cafile=str(self.plane.folder / "cert.pem"))
        return http.client.HTTPSConnection("127.0.0.1", self.plane.port, timeout=120, context=context)

    def send(self, connection: http.client.HTTPSConnection, method: str, path: str, body: object = None) -> Any:
        """Return the response, as JSON or text."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        data = answer.read()
        assert answer.status < http.HTTPStatus.BAD_REQUEST, f"{method} {path}: {answer.status} {data[:500]!r}"
        is_json = answer.getheader("Content-Type", "").startswith("application/json")
        return json.loads(data) if is_json else data.decode()

    def create(self, requests: Sequence[Request]) -> None:
        """Create objects in parallel."""
        waiting, failures, lock = iter(requests), [], threading.Lock()

        def work() -> None:
            connection = self.connect()
            try:
                while True:
                    with lock:
                        one = next(waiting, None)
                    if one is None:
                        return
                    self.send(connection, "POST", *one)
            except (AssertionError, OSError, http.client.HTTPException) as failed:
                failures.append(failed)
            finally:
                connection.close()

        threads = [threading.Thread(target=work) for _ in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]

    def n_bindings(self, connection: http.client.HTTPSConnection) -> int:
        """Return how many bindings the API server has accepted since it started."""
        text: str = self.send(connection, "GET", "/metrics")
        wanted = ('code="201"', 'resource="pods"', 'subresource="binding"')
        return sum(
            int(float(line.rpartition(" ")[2]))
            for line in text.splitlines()
            if line.startswith("apiserver_request_total{") and all(part in line for part in wanted)
        )

    @contextlib.contextmanager
    def bindings(self) -> Iterator[Iterator[tuple[str, float]]]:
        """Yield the pods that are bound from now on, and the time at which a watch delivers each."""
        with contextlib.closing(self.connect()) as connection:
            version = self.send(connection, "GET", f"{PODS}?limit=1")["metadata"]["resourceVersion"]
            path = f"{PODS}?watch=1&resourceVersion={version}"
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            with connection.getresponse() as answer:
                yield _bindings(answer)


def _bindings(answer: http.client.HTTPResponse) -> Iterator[tuple[str, float]]:
    seen: set[str] = set()
    while line := answer.readline():
        at_s = time.monotonic()
        made: Object = json.loads(line)["object"]
        name = made["metadata"]["name"]
        if made["spec"].get("nodeName") and name not in seen:
            seen.add(name)
            yield name, at_s


@contextlib.contextmanager
def serving(binaries: Path, folder: Path) -> Iterator[Server]:
    """Run a control plane on the data in a folder, if there are some."""
    folder.mkdir(exist_ok=True)
    with control_plane(binaries, folder) as plane:
        lines = (folder / "tokens.csv").read_text().splitlines()
        yield Server(plane, next(line.partition(",")[0] for line in lines if "administrator" in line))


def install_definitions(server: Server) -> None:
    """Install KAI's definitions."""
    for file in sorted(_CRDS.glob("*.yaml")):
        if not file.name.endswith(".strict.yaml"):
            server.plane.kubectl.must("create", "--validate=false", "-f", str(file))
    # The kinds are served some time later.
    time.sleep(5)


def apportion_commands(server: Server) -> Iterator[Command]:
    """Yield the command of `apportion scheduler`."""
    program = Path(sys.executable).with_name("apportion")
    yield program, "scheduler", "--kubeconfig", _kubeconfig(server), "--port=0"


def kube_scheduler_commands(server: Server, program: Path) -> Iterator[Command]:
    """Yield the command of kube-scheduler, without limits on its requests."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(_kubeconfig(server)), "qps": _QPS, "burst": _QPS},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": SCHEDULER}],
    }
    file = server.plane.folder / "kube-scheduler.json"
    file.write_text(json.dumps(configuration))
    yield program, f"--config={file}", "--secure-port=0"


def kai_commands(server: Server, binaries: Path) -> Iterator[Command]:
    """Yield the commands of KAI's scheduler, binder and pod grouper, without limits on their requests."""
    ports = [f":{port}" for port in free_ports(6)]
    own = {
        "scheduler": (f"--listen-address={ports[0]}", f"--plugin-server-port={ports[1][1:]}"),
        "binder": (f"--metrics-bind-address={ports[2]}", f"--health-probe-bind-address={ports[3]}"),
        "podgrouper": (f"--metrics-bind-address={ports[4]}", f"--health-probe-bind-address={ports[5]}"),
    }
    for name, flags in own.items():
        yield "env", f"KUBECONFIG={_kubeconfig(server)}", binaries / name, f"--qps={_QPS}", f"--burst={_QPS}", *flags


def _kubeconfig(server: Server) -> Path:
    return server.plane.folder / "administrator.kubeconfig"


def pods_per_second(server: Server, process: Running, n_pods: int, most_s: float) -> tuple[float, int]:
    """Wait until all pods are bound, or for `most_s`.

    Returns:
        The rate after the first twentieth, up to the last twentieth or the end of the wait, and the number of bound pods.
    """
    began_s, samples = time.monotonic(), [(0.0, 0)]
    with contextlib.closing(server.connect()) as connection:
        while samples[-1][1] < n_pods and samples[-1][0] < most_s:
            assert process.process.poll() is None, process.log_tail()
            time.sleep(0.5)
            samples.append((time.monotonic() - began_s, server.n_bindings(connection)))
    n_bound = samples[-1][1]
    first, last = 0.05 * n_pods, min(n_bound, 0.95 * n_pods)
    assert last > first, process.log_tail()

    def reached_s(count: float) -> float:
        for (before_s, before), (after_s, after) in itertools.pairwise(samples):
            if after >= count:
                return before_s + (after_s - before_s) * (count - before) / (after - before)
        raise AssertionError(samples)

    return (last - first) / (reached_s(last) - reached_s(first)), n_bound
