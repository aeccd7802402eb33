"""The `kubectl get` command that takes a snapshot of a cluster: the kinds that a review reads, for each engine."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc

import click

SNAPSHOT_KINDS: Mapping[str, tuple[str, ...]] = {
    "kai": (
        "nodes",
        "pods",
        "priorityclasses",
        "namespaces",
        "queues.scheduling.run.ai",
        "podgroups.scheduling.run.ai",
        "schedulingshards.kai.scheduler",
        "topologies.kai.scheduler",
        "bindrequests.scheduling.run.ai",
    ),
    "kueue": (
        "nodes",
        "pods",
        "priorityclasses",
        "namespaces",
        "workloads.kueue.x-k8s.io",
        "clusterqueues.kueue.x-k8s.io",
        "localqueues.kueue.x-k8s.io",
        "cohorts.kueue.x-k8s.io",
        "resourceflavors.kueue.x-k8s.io",
        "workloadpriorityclasses.kueue.x-k8s.io",
    ),
    "volcano": (
        "nodes",
        "pods",
        "priorityclasses",
        "podgroups.scheduling.volcano.sh",
        "queues.scheduling.volcano.sh",
        "configmaps",
    ),
    "ack": (
        "nodes",
        "pods",
        "priorityclasses",
        "namespaces",
        "resourcequotas",
        "jobs.batch",
        "replicasets.apps",
        "statefulsets.apps",
        "rayjobs.ray.io",
        "elasticquotatrees.scheduling.sigs.k8s.io",
        "queues.scheduling.x-k8s.io",
    ),
    "koordinator": (
        "nodes",
        "pods",
        "priorityclasses",
        "elasticquotas.scheduling.sigs.k8s.io",
    ),
    "yunikorn": (
        "nodes",
        "pods",
        "priorityclasses",
        "configmaps",
    ),
    "native": (
        "nodes",
        "pods",
        "priorityclasses",
        "namespaces",
        "resourcequotas",
        "poddisruptionbudgets",
        "jobs.batch",
        "replicasets.apps",
        "statefulsets.apps",
    ),
}
"""Kinds by engine, as kubectl arguments; `docs/review.md` lists the same commands."""
PLACEHOLDER = "KUBECTL"
_COLUMNS = 74


def snapshot_command(engine: str) -> str:
    """Return the command on one line."""
    return f"kubectl get {','.join(SNAPSHOT_KINDS[engine])} -A -o json"


def snapshot_example(engine: str, then: str, more: tuple[str, ...] = ()) -> str:
    """Return the command for a help text, with line continuations.

    Args:
        engine: The engine.
        then: Text after the command, such as `> prod.json`.
        more: Additional kinds.
    """
    lines, line = [], "kubectl get "
    kinds = (*SNAPSHOT_KINDS[engine], *more)
    for kind in kinds:
        part = f"{kind}," if kind != kinds[-1] else kind
        if len(line) + len(part) > _COLUMNS:
            lines.append(f"{line}\\")
            line = ""
        line += part
    last = f" -A -o json {then}"
    if len(line) + len(last) > _COLUMNS:
        lines.append(f"{line} \\")
        line, last = "", last.lstrip()
    return "\n".join((*lines, line + last))


def with_snapshot_command(command: click.Command, engine: str, then: str, more: tuple[str, ...] = ()) -> None:
    """Replace `KUBECTL` in the help of a command by the snapshot command."""
    assert command.help is not None
    command.help = cleandoc(command.help).replace(PLACEHOLDER, snapshot_example(engine, then, more))
