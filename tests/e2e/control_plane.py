"""etcd, kube-apiserver and kube-controller-manager on loopback, with token file, RBAC and keys of their own.

The controllers make the answers of the API server those of a cluster: namespaces end, quotas are counted, a Job makes
its Pods and a Deployment its ReplicaSet, and the types of admission expressions are checked. There are no nodes and no
scheduler: whatever is created stays pending.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .kubectl import Kubectl
from .processes import Restartable, free_ports, restartable, wait_until

_READY_S = 120
_ADMINISTRATOR = "administrator"
_CONTROLLERS = "system:kube-controller-manager"
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "validatingadmissionpolicy-status-controller",
)
"""The enabled controllers; the others manage nodes, volumes and networks."""
AUDIT_LOG = "audit.jsonl"
"""The file of the folder with the requests of service accounts of the audited namespace, one event a line."""
_AUDITED_NAMESPACE = "apportion-system"


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane. `kubectl` is its administrator's."""

    kubectl: Kubectl
    folder: Path
    port: int
    generate_cert: Path
    """Go's generator of certificates."""
    etcd: Restartable
    server: Restartable
    manager: Restartable
    token: str
    """The administrator's."""

    def wait_until_ready(self) -> None:
        """Return when the API server, which was started again, serves requests. Raises `NotReady` if it does not."""
        is_ready = _is_ready(self.folder, self.port, self.token)
        wait_until("ready", is_ready, self.server.running, limit_s=_READY_S)


@contextlib.contextmanager
def control_plane(binaries: Path, folder: Path) -> Iterator[ControlPlane]:
    """Run a control plane in a folder; every process is stopped when the block ends.

    Raises:
        NotReady: If a part does not come up.
    """
    client_port, peer_port, api_port = free_ports(3)
    _make_keys(binaries, folder)
    tokens = {_ADMINISTRATOR: secrets.token_hex(), _CONTROLLERS: secrets.token_hex()}
    _private(folder / "tokens.csv", "".join(_token_line(user, token) for user, token in tokens.items()))
    (folder / "audit-policy.json").write_text(json.dumps(_audit_policy()))
    administrator = _kubeconfig(folder, api_port, _ADMINISTRATOR, tokens[_ADMINISTRATOR])
    controllers = _kubeconfig(folder, api_port, _CONTROLLERS, tokens[_CONTROLLERS])
    with contextlib.ExitStack() as parts:
        etcd = parts.enter_context(restartable(_etcd(binaries, folder, client_port, peer_port), folder / "etcd.log"))
        wait_until("listening", _listens(client_port), etcd.running, limit_s=_READY_S)
        server = parts.enter_context(
            restartable(_apiserver(binaries, folder, client_port, api_port), folder / "kube-apiserver.log")
        )
        wait_until("ready", _is_ready(folder, api_port, tokens[_ADMINISTRATOR]), server.running, limit_s=_READY_S)
        manager = parts.enter_context(
            restartable(_controller_manager(binaries, folder, controllers), folder / "kube-controller-manager.log")
        )
        kubectl = Kubectl(binaries / "kubectl", administrator)
        # Created by a controller in each namespace; pods are rejected without it.
        wait_until("serving accounts", _has_default_account(kubectl), manager.running, limit_s=_READY_S)
        certificates, token = binaries / "generate_cert", tokens[_ADMINISTRATOR]
        yield ControlPlane(kubectl, folder, api_port, certificates, etcd, server, manager, token)


def _make_keys(binaries: Path, folder: Path) -> None:
    """Write the API server's certificate and key (cert.pem, key.pem) and the key of service accounts."""
    accounts = folder / "accounts"
    accounts.mkdir()
    command: list[str | Path] = [binaries / "generate_cert", "--host", "127.0.0.1", "--ca", "--ecdsa-curve", "P256"]
    for place in (folder, accounts):
        subprocess.run(command, cwd=place, check=True, capture_output=True)


def _etcd(binaries: Path, folder: Path, client_port: int, peer_port: int) -> list[str | Path]:
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        binaries / "etcd",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(binaries: Path, folder: Path, etcd_port: int, port: int) -> list[str | Path]:
    return [
        binaries / "kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        # The address of the Service `kubernetes` may not be loopback, and these tests do not use it.
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        f"--tls-cert-file={folder / 'cert.pem'}",
        f"--tls-private-key-file={folder / 'key.pem'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts' / 'cert.pem'}",
        f"--service-account-signing-key-file={folder / 'accounts' / 'key.pem'}",
        "--service-cluster-ip-range=10.96.0.0/24",
        f"--audit-policy-file={folder / 'audit-policy.json'}",
        f"--audit-log-path={folder / AUDIT_LOG}",
        "--profiling=false",
    ]


def _audit_policy() -> dict[str, object]:
    accounts = f"system:serviceaccounts:{_AUDITED_NAMESPACE}"
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "userGroups": [accounts]}, {"level": "None"}],
    }


def _controller_manager(binaries: Path, folder: Path, kubeconfig: Path) -> list[str | Path]:
    return [
        binaries / "kube-controller-manager",
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--service-account-private-key-file={folder / 'accounts' / 'key.pem'}",
        # Each controller has its own user, as on a real cluster, which admission policies check.
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--secure-port=0",
        # Namespaces are finalized in one pass, and quotas are recounted immediately.
        "--concurrent-namespace-syncs=20",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    ]


def _token_line(user: str, token: str) -> str:
    groups = f',"{"system:masters"}"' if user == _ADMINISTRATOR else ""
    return f"{token},{user},{user}{groups}\n"


def kubeconfig(plane: ControlPlane, user: str, token: str) -> Path:
    """Write a kubeconfig for a user with a token to the control plane's folder."""
    return _kubeconfig(plane.folder, plane.port, user, token)


def kubeconfig_of_proxy(plane: ControlPlane, port: int, user: str, token: str) -> Path:
    """Write a kubeconfig of a proxy without TLS on loopback to the control plane's folder."""
    path = plane.folder / f"{user}-{port}.kubeconfig"
    return _write_kubeconfig(path, {"server": f"http://127.0.0.1:{port}"}, user, token)


def _kubeconfig(folder: Path, port: int, user: str, token: str) -> Path:
    path = folder / f"{user.replace(':', '-')}.kubeconfig"
    server = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(folder / "cert.pem")}
    return _write_kubeconfig(path, server, user, token)


def _write_kubeconfig(path: Path, server: Mapping[str, str], user: str, token: str) -> Path:
    configuration = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": server}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
        "current-context": "e2e",
    }
    _private(path, json.dumps(configuration))
    return path


def _private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def _listens(port: int) -> Iterator[bool]:
    while True:
        with socket.socket() as probe:
            yield probe.connect_ex(("127.0.0.1", port)) == 0


def _is_ready(folder: Path, port: int, token: str) -> Iterator[bool]:
    context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    while True:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
        try:
            connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {token}"})
            yield connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            yield False
        finally:
            connection.close()


def _has_default_account(kubectl: Kubectl) -> Iterator[bool]:
    while True:
        yield kubectl("get", "serviceaccount", "default", "--namespace=default").accepted
