"""The configuration of the scheduler: its settings, and the JSON Schema of the document that has them.

`configuration_document.py` parses the document; `configuration_file.py` follows its changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apportion_api.kai.names import RESERVATION_APP

API_VERSION = "apportion.dev/v1"
KIND = "SchedulerConfiguration"
KAI, ACK = "kai", "ack"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_IMAGE = r"\S+"
_NAME = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """The settings of a scheduler; times are in seconds. `FIELDS` gives the meaning of each."""

    engine: str = KAI
    scheduler_name: str = "kai-scheduler"
    shard: str | None = None
    kubeconfig: str | None = None
    context: str | None = None
    cycle_period_s: float = 1.0
    idle_period_s: float = 60.0
    port: int = 8080
    write_concurrency: int = 16
    dry_run: bool = False
    log_format: str = "text"
    decision_log: str | None = None
    lease: str | None = None
    lease_duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_period_s: float = 2.0
    reservation_image: str | None = None
    reservation_namespace: str = RESERVATION_APP
    reservation_service_account: str = RESERVATION_APP
    reservation_runtime_class: str | None = None
    reservation_timeout_s: float = 40.0
    reservation_uses_cdi: bool = False
    requeue_s: float | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the document.

    Attributes:
        path: Its keys, as `leaderElection.lease`.
        attribute: Its attribute of `SchedulerConfiguration`.
        type: `string`, `integer`, `number` or `boolean`.
        meaning: A phrase for readers.
        minimum: The least value.
        maximum: The greatest value.
        choices: The values, if there are few.
        pattern: A regular expression for the whole text.
        is_reloaded: Whether a change takes effect without a restart.
        engine: The only engine to which the field applies; None if it applies to all of them.
    """

    path: str
    attribute: str
    type: str
    meaning: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    is_reloaded: bool = False
    engine: str | None = None

    def fault(self, value: object) -> str | None:
        """Return the constraint that the value violates, or None if it is valid."""
        if not _has_type(value, self.type):
            return f"must be {'an' if self.type == 'integer' else 'a'} {self.type}"
        if self.choices and value not in self.choices:
            return f"must be {' or '.join(self.choices)}"
        if self.pattern is not None and not re.fullmatch(self.pattern, str(value)):
            return _EXPECTED[self.pattern]
        if isinstance(value, int | float):
            if self.minimum is not None and value < self.minimum:
                return f"must be at least {self.minimum:g}"
            # A number that is not finite compares as less than nothing.
            if self.maximum is not None and not value <= self.maximum:
                return f"must be at most {self.maximum:g}"
        return None

    def schema(self, default: object) -> dict[str, Any]:
        """Return the field's JSON Schema."""
        made: dict[str, Any] = {"description": self.meaning, "type": self.type}
        if default is not None:
            made["default"] = default
        if self.choices:
            made["enum"] = list(self.choices)
        if self.pattern is not None:
            made["pattern"] = f"^{self.pattern}$"
        if self.minimum is not None:
            made["minimum"] = self.minimum
        if self.maximum is not None:
            made["maximum"] = self.maximum
        return made


_EXPECTED = {
    _NAME: "must be a valid object name: use lower-case letters, digits, - and .",
    f"{_NAME}/{_NAME}": "must be NAMESPACE/NAME",
    r".+": "must be a file name",
    _IMAGE: "must be an image name",
}
_LONGEST_S = 86_400.0

FIELDS: tuple[Field, ...] = (
    Field(
        "engine",
        "engine",
        "string",
        "engine whose quotas the scheduler enforces: `kai` to schedule pods, or `ack` to release suspended jobs",
        choices=(KAI, ACK),
    ),
    Field(
        "schedulerName",
        "scheduler_name",
        "string",
        "`schedulerName` of the pods to schedule",
        pattern=_NAME,
        engine=KAI,
    ),
    Field(
        "shard",
        "shard",
        "string",
        "SchedulingShard of the pods to schedule, if the cluster has more than one",
        pattern=_NAME,
        engine=KAI,
    ),
    Field("kubeconfig", "kubeconfig", "string", "kubeconfig file; if unset, KUBECONFIG or the pod's service account"),
    Field("context", "context", "string", "context in the kubeconfig"),
    Field(
        "cyclePeriodSeconds",
        "cycle_period_s",
        "number",
        "maximum delay between a change and the next cycle",
        0.05,
        _LONGEST_S,
        is_reloaded=True,
    ),
    Field(
        "idlePeriodSeconds",
        "idle_period_s",
        "number",
        "maximum time between two cycles if nothing changes",
        1,
        _LONGEST_S,
        is_reloaded=True,
    ),
    Field("port", "port", "integer", "port for the HTTP endpoints; 0 picks a free one", 0, 65535),
    Field("writeConcurrency", "write_concurrency", "integer", "maximum number of parallel writes", 1, 256),
    Field("dryRun", "dry_run", "boolean", "report decisions and write nothing to the API server"),
    Field("logFormat", "log_format", "string", "log format", choices=("text", "json")),
    Field(
        "decisionLog",
        "decision_log",
        "string",
        "file in which each cycle is recorded for replay",
        pattern=r".+",
        engine=KAI,
    ),
    Field(
        "leaderElection.lease",
        "lease",
        "string",
        "lease for leader election, as NAMESPACE/NAME; if unset, leader election is disabled",
        pattern=f"{_NAME}/{_NAME}",
    ),
    Field(
        "leaderElection.leaseDurationSeconds",
        "lease_duration_s",
        "number",
        "time without a renewal after which another replica takes over",
        1,
        _LONGEST_S,
    ),
    Field(
        "leaderElection.renewDeadlineSeconds",
        "renew_deadline_s",
        "number",
        "time without a renewal after which the leader stops writing; must be less than the lease duration",
        0.5,
        _LONGEST_S,
    ),
    Field(
        "leaderElection.retryPeriodSeconds",
        "retry_period_s",
        "number",
        "time between attempts to acquire or renew the lease; must be less than the renew deadline",
        0.1,
        _LONGEST_S,
    ),
    Field(
        "gpuReservation.image",
        "reservation_image",
        "string",
        "KAI's `resourcereservation` image; if unset, GPUs are not shared",
        pattern=_IMAGE,
        engine=KAI,
    ),
    Field(
        "gpuReservation.namespace",
        "reservation_namespace",
        "string",
        "namespace of the reservation pods",
        pattern=_NAME,
        engine=KAI,
    ),
    Field(
        "gpuReservation.serviceAccount",
        "reservation_service_account",
        "string",
        "service account of the reservation pods",
        pattern=_NAME,
        engine=KAI,
    ),
    Field(
        "gpuReservation.runtimeClass",
        "reservation_runtime_class",
        "string",
        "runtime class of the reservation pods",
        pattern=_NAME,
        engine=KAI,
    ),
    Field(
        "gpuReservation.timeoutSeconds",
        "reservation_timeout_s",
        "number",
        "time within which a reservation pod must report its GPU",
        1,
        _LONGEST_S,
        engine=KAI,
    ),
    Field(
        "gpuReservation.cdi",
        "reservation_uses_cdi",
        "boolean",
        "whether the device plugin uses CDI",
        engine=KAI,
    ),
    Field(
        "jobQueue.requeueSeconds",
        "requeue_s",
        "number",
        "time after which a released job is suspended and requeued if its pods have not started; if unset, released jobs are never suspended",
        1,
        _LONGEST_S,
        engine=ACK,
    ),
)


def configuration_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the document."""
    defaults = SchedulerConfiguration()
    properties: dict[str, Any] = {"apiVersion": {"const": API_VERSION}, "kind": {"const": KIND}}
    for field in FIELDS:
        group, _, key = field.path.rpartition(".")
        within = properties
        if group:
            within = properties.setdefault(group, {"type": "object", "additionalProperties": False, "properties": {}})[
                "properties"
            ]
        within[key] = field.schema(getattr(defaults, field.attribute))
    return {
        "$schema": _DIALECT,
        "title": KIND,
        "description": "Configuration of `apportion scheduler`; see docs/live-scheduler.md.",
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind"],
        "properties": properties,
    }


def timing_fault(configuration: SchedulerConfiguration) -> str | None:
    """Return why the timing of the lease is invalid, or None."""
    if configuration.retry_period_s < configuration.renew_deadline_s < configuration.lease_duration_s:
        return None
    return (
        f"retryPeriodSeconds ({configuration.retry_period_s:g}) must be less than renewDeadlineSeconds "
        f"({configuration.renew_deadline_s:g}), which must be less than leaseDurationSeconds ({configuration.lease_duration_s:g})"
    )


def engine_fault(engine: str, attributes: Iterable[str]) -> tuple[Field, str] | None:
    """Return the first field that is set and does not apply to an engine, and a clause about it; None if all do."""
    given = frozenset(attributes)
    for field in FIELDS:
        if field.attribute in given and field.engine not in (None, engine):
            return (
                field,
                f"{field.path} applies only to `engine: {field.engine}`: remove it, or set `engine: {field.engine}`",
            )
    return None


def restart_fields(before: SchedulerConfiguration, after: SchedulerConfiguration) -> Iterable[str]:
    """Return the changed fields that take effect after a restart only, in the order of the document."""
    return [
        field.path
        for field in FIELDS
        if not field.is_reloaded and getattr(before, field.attribute) != getattr(after, field.attribute)
    ]


def _has_type(value: object, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)
