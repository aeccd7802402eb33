"""The image of the packaged scheduler: its build steps, and its process under the Deployment's restrictions."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects

from .dockerfile import Image, build
from .runtime.kube.api_server import ApiServer, listening
from .runtime.kube.objects import TRAIN, TREE, node, pod

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
_LIMIT_S = 60
_GRACE_S = 30
"""The grace period of a pod, unless it sets another."""
OBJECTS: dict[str, Any] = {str(one["kind"]): one for one in scheduler_objects(SchedulerDeployment("image"))}
POD = OBJECTS["Deployment"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    # Directories of pytest cannot be read by another user.
    folder = Path(tempfile.mkdtemp(prefix="apportion-image-"))
    folder.chmod(0o755)
    try:
        python = folder / "python"
        python.mkdir()
        (python / "python").symlink_to(sys.executable)
        # pip's own settings, such as its index, are those of this machine.
        base = {**os.environ, "PATH": f"{python}:{os.defpath}"}
        built = build(ROOT, folder, base, {"VERSION": "1.2.3"})
        built.environment = {key: value for key, value in built.environment.items() if os.environ.get(key) != value}
        yield built
    finally:
        shutil.rmtree(folder, onerror=_writable)


def _writable(remove: Callable[[str], object], path: str, _: object) -> None:
    Path(path).parent.chmod(0o755)
    remove(path)


def _state(root: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in sorted(root.rglob("*"))}


def _make_read_only(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)


def _unprivileged(user: str) -> list[str]:
    """Return the command that runs another one without capabilities, and as the user if it may run this interpreter."""
    if os.geteuid() != 0:
        return []
    dropped = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    number, _, group = user.partition(":")
    other = [*dropped, f"--reuid={number}", f"--regid={group}", "--clear-groups"]
    readable = subprocess.run([*other, sys.executable, "-c", ""], capture_output=True, check=False).returncode == 0
    return other if readable else dropped


def _is_ok(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except OSError:
        # Nothing listens yet, or the status is an error.
        return False


def _wait(condition: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_image_has_the_version_of_the_build_argument(image: Image) -> None:
    command = [image.root / "opt/apportion/bin/apportion", "version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=image.environment)
    assert "1.2.3" in said.stdout


def test_image_listens_on_the_port_of_the_deployment(image: Image) -> None:
    assert {one["containerPort"] for one in CONTAINER["ports"]} == image.exposed
    assert {CONTAINER[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == image.exposed


def test_image_runs_as_the_user_of_the_deployment(image: Image) -> None:
    security = POD["securityContext"]
    assert image.user == f"{security['runAsUser']}:{security['runAsGroup']}"


def test_container_schedules_on_a_read_only_file_system_and_stops_gracefully(image: Image, tmp_path: Path) -> None:
    """The process has no capability, writes nothing but its emptyDir, answers the probes and ends on SIGTERM."""
    api, log, port = ApiServer(), tmp_path / "log", _free_port()
    api.add(*TREE, TRAIN, node("n1", 4), pod("a", "nlp", 2))
    for name, text in OBJECTS["ConfigMap"]["data"].items():
        (mount,) = (one["mountPath"] for one in CONTAINER["volumeMounts"] if one["name"] == "configuration")
        image.path(mount).mkdir(parents=True, exist_ok=True)
        (image.path(mount) / name).write_text(text.replace("port: 8080", f"port: {port}"))
    scratch = image.root.parent / "tmp"
    scratch.mkdir()
    scratch.chmod(0o777)
    environment = {**image.environment, "HOME": "/", "TMPDIR": str(scratch)}
    arguments = CONTAINER.get("args", image.command)
    program = shutil.which(image.entrypoint[0], path=environment["PATH"])
    assert program is not None
    with listening(api) as api_port, log.open("wb") as written:
        server = {"server": f"http://127.0.0.1:{api_port}"}
        account = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": server}],
            "users": [{"name": "account", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "account"}}],
            "current-context": "here",
        }
        (image.path("/kubeconfig")).write_text(json.dumps(account))
        environment["KUBECONFIG"] = str(image.path("/kubeconfig"))
        _make_read_only(image.root)
        before = _state(image.root)
        process = subprocess.Popen(
            [*_unprivileged(image.user), program, *image.entrypoint[1:], *(image.placed(one) for one in arguments)],
            stdout=written,
            stderr=written,
            cwd="/",
            env=environment,
        )
        try:
            for probe in ("readinessProbe", "livenessProbe"):
                url = f"http://127.0.0.1:{port}{CONTAINER[probe]['httpGet']['path']}"
                _wait(partial(_is_ok, url), log)
            _wait(lambda: api.pod("a")["spec"].get("nodeName") == "n1", log)
            process.send_signal(signal.SIGTERM)
            code = process.wait(POD.get("terminationGracePeriodSeconds", _GRACE_S))
        finally:
            process.kill()
            process.wait()
        lease = api.held["/apis/coordination.k8s.io/v1/namespaces/apportion-system/leases/apportion-scheduler"]
    assert code == 0, log.read_text()
    assert lease["spec"]["holderIdentity"] == ""
    assert _state(image.root) == before
    assert list(scratch.iterdir()) == []
