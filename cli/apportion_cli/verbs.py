"""The verbs as a table, so that help and completion import none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a verb's command is, as `module:attribute`, and its line in the help."""

    target: str
    help: str
    aliases: tuple[str, ...] = ()


def _verb(name: str, help_line: str, *aliases: str) -> tuple[str, Verb]:
    return name, Verb(f"apportion_cli.commands.{name}:{name}", help_line, aliases)


VERBS: Mapping[str, Verb] = dict(
    (
        _verb("init", "Write a first policy, with a CI workflow and pre-commit hooks."),
        _verb("validate", "Check a policy; every finding points at its line.", "check"),
        ("compile", Verb("apportion_cli.commands.compile:compile_", "Write the manifests of a policy.", ("build",))),
        _verb("bind", "Write a workload that runs in a queue."),
        ("import", Verb("apportion_cli.commands.import_:import_", "Write the objects of an engine as a policy.")),
        _verb("simulate", "Decide one scheduling cycle over a snapshot of a cluster, and say why."),
        _verb("preview", "Say what `up` would do to an environment's clusters."),
        _verb("up", "Bring an environment's clusters to the policy, in updates that are each valid."),
        _verb("drift", "Say what an environment's clusters hold beside what was written to them."),
        _verb("scheduler", "Schedule a cluster's pods: the packaged scheduler."),
        _verb("explain", "Explain a rule, a queue of a policy, or a job or queue of a cluster."),
        _verb("graph", "Draw the organisation's tree with its quotas."),
        _verb("rules", "List the rules."),
        _verb("schema", "Print the JSON Schema of a policy, a report or a snapshot."),
        _verb("doctor", "Look at the installation and at the settings in force."),
        _verb("completion", "Print the completion script of a shell."),
        _verb("version", "Print the version."),
        _verb("dev", "Do a chore of this repository (for contributors)."),
    )
)
"""Verbs in the order of the help. A command's function is called as its verb, with `_` where that is a builtin."""

ALIASES: Mapping[str, str] = {alias: name for name, verb in VERBS.items() for alias in verb.aliases}
