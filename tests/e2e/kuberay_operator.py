"""KubeRay's own operator beside a control plane, with KAI as its batch scheduler and the permissions of its module.

There is no Ray: head pods do not answer, so a RayService never becomes ready. The operator makes the pods of RayClusters
regardless, recreates those that are evicted, and deletes those that a scale-down names.
"""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterator
from pathlib import Path

import yaml

from .control_plane import ControlPlane, kubeconfig
from .processes import Running, free_ports, running, wait_until

_NAMESPACE = "kuberay-operator"
_ACCOUNT = "kuberay-operator"
_READY_S = 90


@contextlib.contextmanager
def kuberay(plane: ControlPlane, binaries: Path) -> Iterator[Running]:
    """Install the operator's account, and run the operator until the block ends. The definitions must be installed."""
    kubectl = plane.kubectl
    role = yaml.safe_load((binaries / "role.yaml").read_bytes())
    metadata = {"name": _ACCOUNT, "namespace": _NAMESPACE}
    made = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        role,
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _ACCOUNT},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role["metadata"]["name"],
            },
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        },
    ]
    try:
        answer = kubectl.create(*made)
        assert answer.accepted, answer.said
        token = kubectl.must("create", "token", _ACCOUNT, f"--namespace={_NAMESPACE}", "--duration=24h").out.strip()
        health, metrics = free_ports(2)
        command = [
            binaries / "ray-operator",
            f"--kubeconfig={kubeconfig(plane, _ACCOUNT, token)}",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--metrics-addr=127.0.0.1:{metrics}",
            "--enable-leader-election=false",
            "--batch-scheduler=kai-scheduler",
        ]
        with running(command, plane.folder / "kuberay.log", folder=plane.folder) as process:
            wait_until("ready", _is_ready(health), process, limit_s=_READY_S)
            yield process
    finally:
        kubectl.delete_objects(tuple(reversed(made)))


def _is_ready(port: int) -> Iterator[bool]:
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            yield connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            yield False
        finally:
            connection.close()
