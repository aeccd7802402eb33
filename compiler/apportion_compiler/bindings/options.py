"""What one asks for in a workload. What is None is chosen: `resolve.py` says how."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOT_A_VARIABLE = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A value of a Secret that the workload's containers get as a variable. The Secret itself is never written."""

    name: str
    key: str
    variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A workload as it is asked for.

    Attributes:
        name: Its name.
        namespace: Its namespace, one of the queue's.
        image: Image of its containers.
        command: What its workers run; a RayJob's entry point, a RayService's import path.
        gpus: Thousandths of a GPU for each worker.
        gpu_model: GPU model of the workers.
        cpu: Millicores for each pod.
        memory: Bytes for each pod.
        workers: How many workers, which start together or not at all.
        priority_class: Its priority class, one of the queue's.
        secrets: What its containers are given of Secrets.
        provisioning: Plan by which its nodes are asked for as a whole.
        schedule: When a CronJob runs, in cron's form.
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
    priority_class: str | None = None
    secrets: tuple[SecretKey, ...] = ()
    provisioning: str | None = None
    schedule: str | None = None


def parse_secret(text: str) -> SecretKey:
    """Return what `NAME:KEY` or `NAME:KEY:VARIABLE` asks for; the variable is the key in capitals otherwise.

    Raises:
        ValueError: If the text has another form.
    """
    name, _, rest = text.partition(":")
    key, _, variable = rest.partition(":")
    variable = variable or _NOT_A_VARIABLE.sub("_", key).upper()
    if not name or not key or _NOT_A_VARIABLE.search(variable) or variable[:1].isdigit():
        raise ValueError(f"`{text}` is not NAME:KEY or NAME:KEY:VARIABLE of a Secret, such as hf-token:token:HF_TOKEN")
    return SecretKey(name, key, variable)
