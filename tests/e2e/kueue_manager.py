"""Kueue's own manager beside a control plane, as its module installs it, its webhooks on loopback.

What `kubectl kustomize config/default` writes is installed but for the parts that run in a cluster: definitions with
their conversion webhooks, rights, and webhook configurations with their selectors. Calls that go to a service there go
to a URL here. The manager has its own service account's rights and nothing more.
"""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .control_plane import ControlPlane, kubeconfig
from .definitions import wait_until_served
from .kubectl import Kubectl, Object
from .processes import Running, free_ports, running, wait_until

API_VERSION = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "kueue-system"
_ACCOUNT = "kueue-controller-manager"
_READY_S = 90
_IN_CLUSTER_ONLY = frozenset({"APIService", "ConfigMap", "Deployment", "Secret", "Service"})
_WEBHOOKS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
_OFF = "VisibilityOnDemand=false"
"""Its server aggregates an API, which a control plane on loopback cannot reach."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An installation of Kueue beside a control plane, with or without a running manager."""

    plane: ControlPlane
    binaries: Path
    folder: Path
    access: Path
    """The kubeconfig of the manager's service account."""
    port: int
    """Of its webhooks."""
    webhooks: list[Object]


def install(plane: ControlPlane, binaries: Path) -> Installed:
    """Install what Kueue needs but for its webhook configurations: without a manager, they refuse everything.

    The definitions of jobs that it shall look after, and that of ProvisioningRequest, have to be installed before.
    """
    folder = plane.folder / "kueue"
    authority = _make_certificate(plane.generate_cert, folder / "certificates")
    (port,) = free_ports(1)
    objects = [
        _called_at(one, f"https://127.0.0.1:{port}", authority)
        for one in _documents(binaries / "install.yaml")
        if one["kind"] not in _IN_CLUSTER_ONLY
    ]
    _create(plane.kubectl, [one for one in objects if one["kind"] not in _WEBHOOKS])
    wait_until_served(plane.kubectl)
    token = plane.kubectl.must("create", "token", _ACCOUNT, f"--namespace={NAMESPACE}", "--duration=24h").out.strip()
    access = kubeconfig(plane, f"{NAMESPACE}-{_ACCOUNT}", token)
    return Installed(plane, binaries, folder, access, port, [one for one in objects if one["kind"] in _WEBHOOKS])


@contextlib.contextmanager
def manager(kueue: Installed, fragment: Mapping[str, Any]) -> Iterator[Running]:
    """Run the manager, with the module's own configuration and a fragment over it, until the block ends.

    Raises:
        NotReady: If the manager does not come up.
    """
    health, metrics = free_ports(2)
    configuration: dict[str, Any] = {
        **_configuration(kueue.binaries / "install.yaml"),
        **fragment,
        "webhook": {"host": "127.0.0.1", "port": kueue.port, "certDir": "certificates"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    (kueue.folder / "config.yaml").write_text(yaml.safe_dump(configuration))
    command = [
        kueue.binaries / "kueue",
        "--config=config.yaml",
        f"--kubeconfig={kueue.access}",
        f"--feature-gates={_OFF}",
        "--zap-log-level=2",
    ]
    kubectl = kueue.plane.kubectl
    with running(command, kueue.plane.folder / "kueue.log", folder=kueue.folder) as process:
        wait_until("ready", _is_ready(health), process, limit_s=_READY_S)
        if not kubectl.get("validatingwebhookconfigurations")["items"]:
            _create(kubectl, kueue.webhooks)
        wait_until("asked", _is_asked(kubectl), process, limit_s=_READY_S)
        yield process


def _configuration(installation: Path) -> dict[str, Any]:
    for one in _documents(installation):
        if one["kind"] == "ConfigMap":
            (text,) = one["data"].values()
            return dict(yaml.safe_load(text))
    raise AssertionError(f"{installation} holds no ConfigMap")


def _documents(installation: Path) -> list[Object]:
    return list(yaml.load_all(installation.read_bytes(), yaml.CSafeLoader))


def _create(kubectl: Kubectl, objects: list[Object]) -> None:
    # Upstream objects, which the API server validates: kubectl's validation is skipped.
    text = "\n---\n".join(json.dumps(one) for one in objects)
    kubectl.must("create", "--validate=false", "-f", "-", stdin=text)


def _make_certificate(generate_cert: Path, folder: Path) -> str:
    """Write tls.crt and tls.key for the loopback address, and return the certificate as a `caBundle`."""
    folder.mkdir(parents=True)
    command = [generate_cert, "--host", "127.0.0.1", "--ca", "--ecdsa-curve", "P256"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "cert.pem").rename(folder / "tls.crt")
    (folder / "key.pem").rename(folder / "tls.key")
    return b64encode((folder / "tls.crt").read_bytes()).decode()


def _called_at(one: Object, base: str, authority: str) -> Object:
    """Return an object with references to the manager's Service replaced by a URL."""
    changed = copy.deepcopy(dict(one))
    clients = [webhook["clientConfig"] for webhook in changed.get("webhooks", ())]
    if changed["kind"] == "CustomResourceDefinition":
        conversion = changed["spec"].get("conversion", {})
        clients += [conversion["webhook"]["clientConfig"]] if "webhook" in conversion else []
    for client in clients:
        client["url"] = base + client.pop("service")["path"]
        client["caBundle"] = authority
    return changed


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


def _is_asked(kubectl: Kubectl) -> Iterator[bool]:
    """Whether the API server, which takes up configurations about once a second, asks the webhooks of either kind."""
    in_wrong_order = [{"name": name, "nominalQuota": 0} for name in ("memory", "cpu")]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": in_wrong_order}]}
    queue = {**_of_kind("ClusterQueue"), "spec": {"resourceGroups": [group]}}
    while True:
        refused = "admission webhook" in kubectl.create(queue, dry_run=True).said
        made = kubectl(
            "create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(_of_kind("ResourceFlavor"))
        )
        yield refused and made.accepted and "finalizers" in made.json()["metadata"]


def _of_kind(kind: str) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "any"}}
