"""`apportion scheduler` if it cannot start: one sentence with the remedy, and exit code 3."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from apportion_cli.commands.scheduler import log_lines
from apportion_cli.console import Console
from apportion_cli.errors import PreconditionError
from apportion_compiler.engine_versions import minor_text
from apportion_compiler.engines.kai.traits import TRAITS as KAI
from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects

Run = Callable[..., Any]
IMAGE = "registry.example/apportion@sha256:" + "0" * 64


def test_missing_kubeconfig_is_named(run: Run, tmp_path: Path) -> None:
    told = run("scheduler", "--kubeconfig", tmp_path / "nothing")
    assert told.code == 3
    assert f"kubeconfig {tmp_path / 'nothing'} does not exist" in told.err
    assert "--kubeconfig" in told.err


def test_missing_client_names_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    told = run("scheduler")
    assert told.code == 3
    assert "the Kubernetes client is not installed" in told.err
    assert "pip install 'apportion[kube]'" in told.err


def test_dashboard_and_alert_rules_are_written_without_the_client(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    told = run("scheduler", "--write-monitoring", tmp_path / "monitoring")
    assert told.code == 0
    names = ["apportion-scheduler-dashboard.json", "apportion-scheduler-alerts.yaml"]
    assert told.out.splitlines() == [f"wrote {tmp_path / 'monitoring' / name}" for name in names]
    assert json.loads((tmp_path / "monitoring" / names[0]).read_text())["title"] == "Apportion scheduler"
    assert yaml.safe_load((tmp_path / "monitoring" / names[1]).read_text())["groups"]


def test_objects_of_the_scheduler_are_written_without_the_client(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    told = run("scheduler", "--write-manifests", tmp_path, "--image", IMAGE, "--engine", "ack")
    assert (told.code, told.out) == (0, f"wrote {tmp_path / 'apportion-scheduler.yaml'}\n")
    written = list(yaml.safe_load_all((tmp_path / "apportion-scheduler.yaml").read_text()))
    assert written == list(scheduler_objects(SchedulerDeployment(IMAGE, engine="ack")))


def test_option_of_the_other_engine_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    command = ("scheduler", "--write-manifests", tmp_path, "--image", IMAGE, "--engine", "ack", "--shard", "h100")
    told = run(*command)
    assert told.code == 2
    assert "--shard applies only to --engine kai: remove --shard, or use that engine" in told.err


@pytest.mark.parametrize("option", ["--write-manifests", "--image"])
def test_objects_of_the_scheduler_require_a_directory_and_an_image(run: Run, option: str) -> None:
    told = run("scheduler", option, "one")
    assert told.code == 2
    assert "--write-manifests and --image must be given together" in told.err


def test_image_that_is_not_pinned_by_digest_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    told = run("scheduler", "--write-manifests", tmp_path / "made", "--image", "registry.example/apportion:1.0")
    assert told.code == 2
    assert (
        "--image `registry.example/apportion:1.0` is invalid: it has no digest: append @sha256: and the 64 hexadecimal "
        "digits that the registry reports" in " ".join(told.err.split())
    )
    assert not (tmp_path / "made").exists()


def test_full_disk_of_the_log_does_not_stop_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        with pytest.raises(PreconditionError, match="No space left on device"):
            Console().err("bound")
        log_lines(Console(), is_json=False)("bound")
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()


def test_missing_definitions_name_the_command_that_installs_them(run: Run, tmp_path: Path) -> None:
    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        cluster = {"clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}]}
        context = {"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "current-context": "c"}
        users = {"users": [{"name": "u", "user": {}}]}
        kubeconfig = tmp_path / "config"
        kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **cluster, **context, **users}))
        told = run("scheduler", "--kubeconfig", kubeconfig, "--port", "0")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert told.code == 3
    assert "does not serve queues.scheduling.run.ai (v2) and podgroups.scheduling.run.ai (v2alpha2)" in told.err
    assert KAI.versions.newest is not None
    oldest, newest = minor_text(KAI.versions.oldest), minor_text(KAI.versions.newest)
    assert told.err.endswith(
        f"hint: choose a VERSION of KAI from {oldest} to {newest} and run: helm show crds "
        "oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler --version VERSION | kubectl apply --server-side -f -\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        ("apiVersion: apportion.dev/v1\nkind: SchedulerConfiguration\nport: x\n", "3: port must be an integer, not x"),
    ],
)
def test_invalid_configuration_is_one_sentence(run: Run, tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "scheduler.yaml"
    if text is not None:
        file.write_text(text)
    told = run("scheduler", "--config", file)
    assert told.code == 3
    assert told.err.startswith(f"apportion: error: {file}")
    assert said in told.err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--lease", "apportion", "--lease must be NAMESPACE/NAME, not apportion"),
        ("--lease", "Foo/bar_", "--lease must be NAMESPACE/NAME, not Foo/bar_"),
        ("--name", "", "--name must be a valid object name: use lower-case letters, digits, - and ., not empty"),
        ("--shard", "A B", "--shard must be a valid object name: use lower-case letters, digits, - and ., not A B"),
        ("--decision-log", "", "--decision-log must be a file name, not empty"),
    ],
)
def test_invalid_value_of_an_option_is_a_usage_error(run: Run, option: str, value: str, said: str) -> None:
    told = run("scheduler", option, value)
    assert told.code == 2
    assert said in " ".join(told.err.split())


def test_options_take_precedence_over_the_configuration(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text("apiVersion: apportion.dev/v1\nkind: SchedulerConfiguration\nkubeconfig: /of-the-document\n")
    assert "kubeconfig /of-the-document does not exist" in run("scheduler", "--config", file).err
    told = run("scheduler", "--config", file, "--kubeconfig", "/of-the-option")
    assert "kubeconfig /of-the-option does not exist" in told.err


def test_schema_of_the_configuration_is_printed_without_the_client(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    told = run("schema", "--for", "scheduler")
    assert told.code == 0
    assert json.loads(told.out)["title"] == "SchedulerConfiguration"
