"""The commands as a table, so that help and completion import none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A command's location, as `module:attribute`, its section and its help line."""

    target: str
    section: str
    help: str
    aliases: tuple[str, ...] = ()


def _verb(section: str, name: str, help_line: str, *aliases: str, function: str = "") -> tuple[str, Verb]:
    return name, Verb(f"apportion_cli.commands.{function or name}:{function or name}", section, help_line, aliases)


_AUTHOR, _CHECK, _DELIVER = "Author a policy", "Check a policy", "Deliver a policy"
_OPERATE, _INSPECT, _OTHER = "Operate clusters", "Inspect", "Other commands"

VERBS: Mapping[str, Verb] = dict(
    (
        _verb(_AUTHOR, "init", "Create a starter policy with CI workflows and pre-commit hooks."),
        _verb(_AUTHOR, "import", "Generate a policy from the objects of an existing cluster.", function="import_"),
        _verb(_AUTHOR, "bind", "Generate a workload for a queue, or bind an existing one to it."),
        _verb(_CHECK, "validate", "Check a policy or manifests, and report findings with file and line.", "check"),
        _verb(_CHECK, "diff", "Compare two policies, given as revisions or paths."),
        _verb(_CHECK, "review", "Review a policy change: its effects, evicted workloads and required approvals."),
        _verb(_CHECK, "codeowners", "Generate a CODEOWNERS file from the owners in a policy."),
        _verb(_CHECK, "simulate", "Simulate a workload under a policy, or one scheduling cycle on a snapshot."),
        _verb(_CHECK, "fit", "Check whether, where and when a workload can start, and suggest changes if it cannot."),
        _verb(_CHECK, "advise", "Find the smallest quota change that meets goals for a load."),
        (
            "compile",
            Verb(
                "apportion_cli.commands.compile:compile_",
                _DELIVER,
                "Compile a policy to Kubernetes manifests.",
                ("build",),
            ),
        ),
        _verb(_DELIVER, "preview", "Preview what `up` would change in an environment's clusters."),
        _verb(_DELIVER, "up", "Apply the policy to an environment's clusters in a sequence of valid updates."),
        _verb(_OPERATE, "drift", "Detect drift: compare an environment's clusters with what was applied."),
        _verb(_OPERATE, "scheduler", "Run the packaged scheduler."),
        _verb(_INSPECT, "explain", "Explain a rule, a queue in a policy, or a job or queue in a cluster."),
        _verb(_INSPECT, "graph", "Draw the queue tree with its quotas."),
        _verb(_INSPECT, "rules", "List the rules."),
        _verb(_INSPECT, "engines", "List the engines with their versions and features, or show one of them."),
        _verb(_INSPECT, "schema", "Print the JSON Schema of a policy, a report, a snapshot or a configuration."),
        _verb(_INSPECT, "doctor", "Check the installation and the settings in effect."),
        _verb(_OTHER, "completion", "Print a shell completion script."),
        _verb(_OTHER, "version", "Print the version."),
        _verb(_OTHER, "dev", "Development commands for contributors."),
    )
)
"""Commands in the order of the help. A command's function has its name, with `_` appended if that is a builtin."""

ALIASES: Mapping[str, str] = {alias: name for name, verb in VERBS.items() for alias in verb.aliases}
