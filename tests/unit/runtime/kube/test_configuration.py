"""The configuration document: its schema, faults with file and line, flags, and changes while the scheduler runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from threading import Event
from typing import Any

import jsonschema
import pytest
import yaml

from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects
from apportion_runtime.kube.configuration import FIELDS, SchedulerConfiguration, configuration_schema
from apportion_runtime.kube.configuration_document import ConfigurationError, parse_configuration
from apportion_runtime.kube.configuration_file import ConfigurationFile
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler_process import options_of, run

from .api_server import ApiServer, running
from .cycle_counts import n_cycles
from .objects import TRAIN, TREE, node, pod
from .scheduler_thread import in_thread, until

PAGE = (Path(__file__).parents[4] / "docs/live-scheduler.md").read_text(encoding="utf-8")
HEAD = "apiVersion: apportion.dev/v1\nkind: SchedulerConfiguration\n"
WHOLE = HEAD + (
    "engine: kai\nschedulerName: kai-two\nshard: a100\nkubeconfig: /etc/kube/config\ncontext: dev\ncyclePeriodSeconds: 0.5\n"
    "idlePeriodSeconds: 30\nport: 9090\nwriteConcurrency: 32\ndryRun: true\nlogFormat: json\ndecisionLog: /log\nleaderElection:\n"
    "  lease: system/scheduler\n  leaseDurationSeconds: 30\n  renewDeadlineSeconds: 20\n  retryPeriodSeconds: 4\n"
    "gpuReservation:\n  image: registry/reservation:v1\n  namespace: reserved\n  serviceAccount: agent\n"
    "  runtimeClass: nvidia\n  timeoutSeconds: 20\n  cdi: true\n"
)
VALUES = SchedulerConfiguration(
    scheduler_name="kai-two",
    shard="a100",
    kubeconfig="/etc/kube/config",
    context="dev",
    cycle_period_s=0.5,
    idle_period_s=30,
    port=9090,
    write_concurrency=32,
    dry_run=True,
    log_format="json",
    decision_log="/log",
    lease="system/scheduler",
    lease_duration_s=30,
    renew_deadline_s=20,
    retry_period_s=4,
    reservation_image="registry/reservation:v1",
    reservation_namespace="reserved",
    reservation_service_account="agent",
    reservation_runtime_class="nvidia",
    reservation_timeout_s=20,
    reservation_uses_cdi=True,
)
FAULTS = [
    ("", "f:1: the document must be a mapping with apiVersion: apportion.dev/v1 and kind: SchedulerConfiguration"),
    ("kind: SchedulerConfiguration\n", "f:1: apiVersion is missing: add `apiVersion: apportion.dev/v1`"),
    ("apiVersion: apportion.dev/v1\n", "f:1: kind is missing: add `kind: SchedulerConfiguration`"),
    ("apiVersion: apportion.dev/v2\n", "f:1: apiVersion must be apportion.dev/v1"),
    (HEAD + "port: [1\n", "f:4: invalid YAML: expected ',' or ']', but got '<stream end>'"),
    (HEAD + "port: 0\nport: 1\n", "f:4: port is set twice: remove this value or the value on line 3"),
    (HEAD + "port: 65536\n", "f:3: port must be at most 65535, not 65536"),
    (HEAD + "port: '80'\n", "f:3: port must be an integer, not 80"),
    (HEAD + "port: true\n", "f:3: port must be an integer, not true"),
    (HEAD + "port:\n", "f:3: port must be an integer, not empty"),
    (HEAD + "cyclePeriodSeconds: 0\n", "f:3: cyclePeriodSeconds must be at least 0.05, not 0"),
    (HEAD + "cyclePeriodSeconds: .nan\n", "f:3: cyclePeriodSeconds must be at most 86400, not nan"),
    (HEAD + "cyclePeriodSeconds: .inf\n", "f:3: cyclePeriodSeconds must be at most 86400, not inf"),
    (HEAD + "shard: Big\n", "f:3: shard must be a valid object name: use lower-case letters, digits, - and ., not Big"),
    (HEAD + "logFormat: xml\n", "f:3: logFormat must be text or json, not xml"),
    (HEAD + "decisionLog: ''\n", 'f:3: decisionLog must be a file name, not ""'),
    (HEAD + "dryRun: !!int x\n", "f:3: dryRun must be a boolean"),
    (
        HEAD + "leaderElection: a/b\n",
        "f:3: leaderElection must be a mapping with the keys lease, leaseDurationSeconds, ",
    ),
    (HEAD + "leaderElection:\n  lease: a\n", "f:4: leaderElection.lease must be NAMESPACE/NAME, not a"),
    (HEAD + "gpuReservation:\n  image: a b\n", "f:4: gpuReservation.image must be an image name, not a b"),
    (HEAD + "leaderElection:\n  clock: 1\n", "f:4: leaderElection.clock is unknown: remove it, or use one of lease, "),
    (HEAD + "leaderElection:\n  port: 1\n", "f:4: leaderElection.port is unknown: did you mean port?"),
    (HEAD + "lease: a/b\n", "f:3: lease is unknown: did you mean leaderElection.lease?"),
    (HEAD + "cyclePeriodSecond: 1\n", "f:3: cyclePeriodSecond is unknown: did you mean cyclePeriodSeconds?"),
    (HEAD + "engine: volcano\n", "f:3: engine must be kai or ack, not volcano"),
    (
        HEAD + "shard: a\nengine: ack\n",
        "f:3: shard applies only to `engine: kai`: remove it, or set `engine: kai`",
    ),
    (
        HEAD + "jobQueue:\n  requeueSeconds: 300\n",
        "f:4: jobQueue.requeueSeconds applies only to `engine: ack`: remove it, or set `engine: ack`",
    ),
    (HEAD + "interval: 1\n", "f:3: interval is unknown: remove it, or use one of apiVersion, kind, engine, "),
    (
        HEAD + "leaderElection:\n  renewDeadlineSeconds: 15\n",
        "f:3: retryPeriodSeconds (2) must be less than renewDeadlineSeconds (15), which must be less than leaseDurationSeconds (15)",
    ),
]
NOT_IN_THE_SCHEMA = ("invalid YAML", "set twice", "renewDeadlineSeconds (15)", "applies only", "!!int", ".nan", ".inf")
"""What a JSON Schema cannot express."""


def test_document_sets_every_field() -> None:
    assert SchedulerConfiguration(**parse_configuration(WHOLE, "f")) == VALUES
    jsonschema.Draft202012Validator(configuration_schema()).validate(yaml.safe_load(WHOLE))


def test_document_of_ack_sets_its_fields() -> None:
    text = HEAD + "engine: ack\njobQueue:\n  requeueSeconds: 300\n"
    expected = SchedulerConfiguration(engine="ack", requeue_s=300)
    assert SchedulerConfiguration(**parse_configuration(text, "f")) == expected
    jsonschema.Draft202012Validator(configuration_schema()).validate(yaml.safe_load(text))
    given = {**parse_configuration(WHOLE, "f"), **parse_configuration(text, "f")}
    assert given.keys() == {field.attribute for field in FIELDS}


def test_empty_document_has_defaults() -> None:
    assert SchedulerConfiguration(**parse_configuration(HEAD, "f")) == SchedulerConfiguration()


@pytest.mark.parametrize(("text", "said"), FAULTS)
def test_invalid_field_is_one_line_error_with_file_and_line(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        parse_configuration(text, "f")
    assert str(told.value).startswith(said)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "text", [text for text, said in FAULTS if not any(x in text + said for x in NOT_IN_THE_SCHEMA)]
)
def test_schema_rejects_same_documents(text: str) -> None:
    assert not jsonschema.Draft202012Validator(configuration_schema()).is_valid(yaml.safe_load(text))


def test_schema_is_valid_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(configuration_schema())


def test_documented_fields_are_those_of_the_document() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", PAGE, re.MULTILINE)
    defaults = SchedulerConfiguration()

    def shown(value: object) -> str:
        return "" if value is None else f"`{value}`" if isinstance(value, str) else json.dumps(value)

    expected = [
        (f.path, f.meaning, shown(getattr(defaults, f.attribute)), "yes" if f.is_reloaded else "no") for f in FIELDS
    ]
    assert [row for row in rows if row[3] in ("yes", "no")] == expected


@pytest.mark.parametrize(("shard", "reservation"), [(None, None), ("a100", "registry/reservation:v1")])
def test_config_map_of_stack_has_valid_document(shard: str | None, reservation: str | None) -> None:
    shards = (shard,) if shard else ()
    packaged = SchedulerDeployment(
        "image", namespace="system", scheduler="kai-two", shards=shards, reservation=reservation
    )
    objects: dict[str, Any] = {str(one["kind"]): one for one in scheduler_objects(packaged)}
    ((file, text),) = objects["ConfigMap"]["data"].items()
    lease = "system/apportion-scheduler-a100" if shard else "system/apportion-scheduler"
    expected = SchedulerConfiguration(scheduler_name="kai-two", shard=shard, lease=lease, reservation_image=reservation)
    assert SchedulerConfiguration(**parse_configuration(text, "f")) == expected
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["scheduler", "--config", f"/etc/apportion/{file}"]
    assert {"name": "configuration", "mountPath": "/etc/apportion", "readOnly": True} in container["volumeMounts"]


def test_changed_setting_restarts_pods_of_stack() -> None:
    def template(packaged: SchedulerDeployment) -> Any:
        deployment: Any
        (deployment,) = (one for one in scheduler_objects(packaged) if one["kind"] == "Deployment")
        return deployment["spec"]["template"]["metadata"]

    assert template(SchedulerDeployment("image")) == template(SchedulerDeployment("image", replicas=3))
    assert template(SchedulerDeployment("image")) != template(SchedulerDeployment("image", shards=("a100",)))


class _Watched:
    """A configuration file and what is reported about it; time passes by two seconds with each reload."""

    def __init__(self, path: Path, **flags: object) -> None:
        self._now_s = 0.0
        self.warnings: list[str] = []
        self.lines: list[str] = []
        self.file = ConfigurationFile(path, flags, lambda: self._now_s)

    def reload(self) -> SchedulerConfiguration:
        self._now_s += 2
        return self.file.reload(self.warnings.append, self.lines.append)


def test_flags_take_precedence_also_after_a_reload(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(HEAD + "port: 1\nshard: a\n")
    watched = _Watched(path, port=7)
    assert (watched.file.current.port, watched.file.current.shard) == (7, "a")
    path.write_text(HEAD + "port: 2\ncyclePeriodSeconds: 3\n")
    current = watched.reload()
    assert (current.port, current.cycle_period_s) == (7, 3)


def test_invalid_change_is_reported_once_and_previous_configuration_kept(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(HEAD + "cyclePeriodSeconds: 3\n")
    watched = _Watched(path)
    path.write_text(HEAD + "cyclePeriodSeconds: fast\n")
    assert [watched.reload().cycle_period_s for _ in range(3)] == [3, 3, 3]
    said = f"{path}:3: cyclePeriodSeconds must be a number, not fast; keeping the previous configuration"
    assert watched.warnings == [said]
    path.write_text(HEAD + "cyclePeriodSeconds: 4\n")
    assert watched.reload().cycle_period_s == 4
    assert watched.lines == [f"reloaded {path}"]


def test_changes_that_need_a_restart_are_named(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(HEAD)
    watched = _Watched(path)
    path.write_text(HEAD + "port: 1\nshard: a\ncyclePeriodSeconds: 2\n")
    watched.reload()
    assert watched.lines == [f"reloaded {path}; restart to apply shard, port"]


def test_running_scheduler_applies_changed_periods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion_runtime.kube.configuration_file._POLL_S", 0.01)
    path, server, counters, log = tmp_path / "f.yaml", ApiServer(), Counters(), list[str]()
    path.write_text(HEAD + "idlePeriodSeconds: 3600\n")
    server.add(node("n1", 4), TRAIN, *TREE)
    file = ConfigurationFile(path, {})

    def work(ended: Event) -> None:
        with running(server) as connection:
            run(connection, options_of(file.current), None, counters, say=log.append, ended=ended, file=file)

    with in_thread(work):
        until(lambda: n_cycles(counters) > 0, log)
        path.write_text(HEAD + "cyclePeriodSeconds: 0.05\nidlePeriodSeconds: 1\n")
        until(lambda: f"reloaded {path}" in log, log)
        server.add(pod("a", "vision", 1))
        until(lambda: any(line.startswith("bound") for line in log), log)
        # With the former period, a cycle without a change would run after an hour.
        before = n_cycles(counters)
        until(lambda: n_cycles(counters) > before + 1, log)
