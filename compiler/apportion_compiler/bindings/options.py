"""Options of a requested workload. `defaults.py` and `queue_selection.py` choose what is None."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOT_A_VARIABLE = re.compile(r"[^A-Za-z0-9_]+")
_NAMED_TIMES = re.compile(r"@(yearly|annually|monthly|weekly|daily|midnight|hourly|every ([0-9]+[hms])+)")
_MONTHS = 12
_CRON_FIELDS = (
    (0, 59, ""),
    (0, 23, ""),
    (1, 31, ""),
    (1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"),
    (0, 6, "sun mon tue wed thu fri sat"),
)
"""The minimum and maximum of each field, and its names."""


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A key of a Secret that the workload's containers get as an environment variable.

    The Secret itself is never written.
    """

    name: str
    key: str
    variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A requested workload.

    Attributes:
        name: Its name.
        namespace: Its namespace, one of the queue's.
        image: Image of its containers.
        command: What its workers run; a RayJob's entry point, a RayService's import path.
        gpus: Thousandths of a GPU for each worker.
        gpu_model: GPU model of the workers.
        cpu: Millicores for each pod.
        memory: Bytes for each pod.
        workers: Number of workers, which start together or not at all.
        least: Minimum number of workers to start; set together with `most`, and `workers` is then None.
        most: Maximum number of workers.
        priority_class: Its priority class, one of the queue's.
        secrets: Values of Secrets for its containers.
        provisioning: Plan that provisions its nodes as a whole.
        schedule: Cron schedule of a CronJob.
    """

    name: str | None = None
    namespace: str | None = None
    image: str | None = None
    command: tuple[str, ...] = ()
    gpus: int | None = None
    gpu_model: str | None = None
    cpu: int | None = None
    memory: int | None = None
    workers: int | None = None
    least: int | None = None
    most: int | None = None
    priority_class: str | None = None
    secrets: tuple[SecretKey, ...] = ()
    provisioning: str | None = None
    schedule: str | None = None


def parse_schedule(text: str) -> str:
    """Return a schedule in the format of Kubernetes (github.com/robfig/cron/v3, ParseStandard).

    Raises:
        ValueError: If it is not a valid schedule.
    """
    fields = text.split()
    if not _NAMED_TIMES.fullmatch(text.strip()) and (
        len(fields) != len(_CRON_FIELDS)
        or not all(_is_cron_field(field, *bounds) for field, bounds in zip(fields, _CRON_FIELDS, strict=True))
    ):
        raise ValueError(
            f'`{text}` is not a cron schedule such as "0 2 * * *" (minute, hour, day of month, month, day of week)'
        )
    return text.strip()


def _is_cron_field(field: str, least: int, most: int, words: str) -> bool:
    for part in field.lower().split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        numbers = [_cron_number(number, words) for number in ((first, last) if dash else (first,))]
        if span in {"*", "?"}:
            numbers = [least, most]
        if not all(least <= number <= most for number in numbers) or numbers[0] > numbers[-1]:
            return False
        if slash and not (step.isascii() and step.isdecimal() and int(step[:9]) > 0):
            return False
    return True


def _cron_number(text: str, words: str) -> int:
    names = words.split()
    if text in names:
        return names.index(text) + (1 if len(names) == _MONTHS else 0)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else -1


def parse_secret(text: str) -> SecretKey:
    """Parse `NAME:KEY` or `NAME:KEY:VARIABLE`; the variable is by default the key in upper case.

    Raises:
        ValueError: If the text has a different format.
    """
    name, _, rest = text.partition(":")
    key, _, variable = rest.partition(":")
    variable = variable or _NOT_A_VARIABLE.sub("_", key).upper()
    if not name or not key or _NOT_A_VARIABLE.search(variable) or variable[:1].isdigit():
        raise ValueError(
            f"`{text}` is not a Secret reference of the form NAME:KEY or NAME:KEY:VARIABLE, such as hf-token:token:HF_TOKEN"
        )
    return SecretKey(name, key, variable)
