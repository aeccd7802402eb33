"""`apportion engines`: the supported engines, their versions and their support of each feature."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from apportion_cli.console import Console, current
from apportion_cli.options import Output, output_option
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from apportion_compiler.fidelity import FidelityLine

VERDICTS = ("exact", "approximated", "refused")
COMMANDS = ("validate", "compile", "bind", "import", "simulate", "fit", "review", "drift")
"""The commands that use an engine. Some require a part of it that is optional: its binding, reader or model."""

_WIDTH = 80
_LABEL = 12
_ROW = "{:<11}  {:<16}  {:<14}  {:>5}  {:>12}  {:>7}"


def _completed(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from apportion_compiler.engines.registry import ENGINES

    return [name for name in ENGINES if name.startswith(incomplete)]


@click.command()
@click.argument("engine", required=False, metavar="[ENGINE]", shell_complete=_completed)
@output_option("text", "json", "md")
@console_options
def engines(engine: str | None, *, outputs: tuple[Output, ...]) -> None:
    """List the engines with their supported versions, and how many features of a policy each supports.

    With ENGINE, show the commands, objects, settings and features of that engine.

    \b
    apportion engines
    apportion engines kueue
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_compiler.engines.registry import ENGINES

    if engine is not None and engine not in ENGINES:
        raise click.UsageError(_unknown(engine, ENGINES))
    console = current()
    for output in outputs or (Output("text"),):
        made = _LISTED[output.format](ENGINES, console) if engine is None else _SHOWN[output.format](engine, console)
        deliver(console, output, made)


def _unknown(engine: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    from apportion_compiler.alternatives import alternatives

    near = get_close_matches(engine.lower(), known, n=1)
    return f"unknown engine {engine}; " + (f"did you mean {near[0]}?" if near else alternatives(known))


def _listed_text(names: Sequence[str], console: Console) -> str:
    from apportion_compiler.engine_versions import minors_text
    from apportion_compiler.engines.registry import TRAITS

    rows = [console.style()("heading", _ROW.format("engine", "title", "versions", *VERDICTS))]
    for name in names:
        rows.append(_ROW.format(name, TRAITS[name].title, minors_text(TRAITS[name].versions), *_counts(name).values()))
    replaced = " and ".join(name for name in names if TRAITS[name].live_scheduler)
    is_complete = all(set(COMMANDS) <= set(_commands(name)) for name in names)
    others = "other commands support every engine" if is_complete else "for other commands, see the same"
    notes = (
        "The last three columns count features of a policy: see apportion engines ENGINE.",
        f"`apportion scheduler` supports {replaced}; {others}.",
    )
    return "\n".join((*rows, "", *notes, ""))


def _listed_json(names: Sequence[str], _: Console) -> str:
    return _json({"kind": "EngineList", "engines": [_summary(name) for name in names]})


def _listed_md(names: Sequence[str], _: Console) -> str:
    from apportion_compiler.engine_versions import range_text
    from apportion_compiler.engines.registry import TRAITS

    head = ("engine", "title", "versions", *VERDICTS)
    rows = (
        (f"[{name}]({_page(name)})", TRAITS[name].title, range_text(TRAITS[name].versions), *_counts(name).values())
        for name in names
    )
    lines = (f"| {' | '.join(map(str, row))} |" for row in (head, ("---",) * len(head), *rows))
    return "".join(f"{line}\n" for line in lines)


def _shown_text(name: str, console: Console) -> str:
    from textwrap import wrap

    style = console.style()
    filled = partial(wrap, width=min(console.width() or _WIDTH, 100), break_long_words=False, break_on_hyphens=False)
    lines: list[str] = []
    for label, text in _facts(name).items():
        lines += filled(text, initial_indent=f"{label:<{_LABEL}}", subsequent_indent=" " * _LABEL)
    for verdict, number in _counts(name).items():
        lines += ["", style("heading", f"{verdict} ({number})")]
        for line in _features(name):
            if line.verdict == verdict:
                lines += filled(line.text, initial_indent=f"  {line.feature.value:<21} ", subsequent_indent=" " * 6)
    return "\n".join(lines) + "\n"


def _shown_json(name: str, _: Console) -> str:
    from apportion_compiler.backends import BACKENDS

    return _json(
        {
            "kind": "Engine",
            **_summary(name),
            "commands": _commands(name),
            "objects": list(BACKENDS[name].kinds),
            "files": [{"name": one.file, "applied": one.applied} for one in BACKENDS[name].conditions],
            "settings": _settings(name),
            "features": [
                {"name": line.feature.value, "support": line.verdict, "rule": line.code, "text": line.how}
                for line in _features(name)
            ],
        }
    )


def _shown_md(name: str, _: Console) -> str:
    from apportion_compiler.backends import BACKENDS
    from apportion_compiler.backends.capability_table import capability_table

    facts = "".join(f"* {label}: {text}\n" for label, text in _facts(name).items())
    return f"{facts}\n{capability_table(BACKENDS[name])}\n"


def _facts(name: str) -> dict[str, str]:
    from apportion_compiler.backends import BACKENDS
    from apportion_compiler.engine_versions import range_text
    from apportion_compiler.engines.registry import TRAITS

    backend, versions = BACKENDS[name], TRAITS[name].versions
    settings = ", ".join(_settings(name))
    return {
        "engine": f"{name} ({TRAITS[name].title})",
        "versions": f"{range_text(versions)}, see {versions.source}",
        "commands": ", ".join(_commands(name)),
        "objects": ", ".join(backend.kinds),
        "files": ", ".join(condition.file for condition in backend.conditions),
        "settings": f"{name} of a cluster: {settings}" if settings else "none of its own",
        "docs": _page(name),
    }


def _summary(name: str) -> dict[str, object]:
    from apportion_compiler.engine_versions import minor_text
    from apportion_compiler.engines.registry import TRAITS

    versions = TRAITS[name].versions
    return {
        "name": name,
        "title": TRAITS[name].title,
        "versions": {
            "product": versions.product,
            "oldest": minor_text(versions.oldest),
            "newest": None if versions.newest is None else minor_text(versions.newest),
            "releases": versions.source,
        },
        "liveScheduler": TRAITS[name].live_scheduler,
        "support": _counts(name),
        "docs": _page(name),
    }


def _features(name: str) -> tuple[FidelityLine, ...]:
    from apportion_compiler.backends import BACKENDS
    from apportion_compiler.backends.capability import Feature
    from apportion_compiler.fidelity import feature_lines

    return feature_lines(BACKENDS[name], Feature)


def _counts(name: str) -> dict[str, int]:
    found: list[str] = [line.verdict for line in _features(name)]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def _commands(name: str) -> list[str]:
    from apportion_compiler.bindings import ENGINES as BINDINGS
    from apportion_compiler.engines.registry import TRAITS
    from apportion_compiler.readers import READERS
    from apportion_runtime.engines.registry import ENGINES as SIMULATED

    missing = {
        *(() if name in BINDINGS else ("bind",)),
        *(() if name in READERS else ("import",)),
        *(() if name in SIMULATED else ("simulate", "fit")),
    }
    found = [command for command in COMMANDS if command not in missing]
    return [*found, *(("scheduler",) if TRAITS[name].live_scheduler else ())]


def _settings(name: str) -> dict[str, str]:
    """Return the fields of the engine's settings in a cluster of a policy, with their descriptions."""
    from apportion_policy.cluster import Cluster

    field = Cluster.model_fields.get(name)
    fields = {} if field is None else type(field.default).model_fields
    return {name: field.description or "" for name, field in fields.items()}


def _page(name: str) -> str:
    return f"docs/backends/{name}.md"


def _json(document: dict[str, object]) -> str:
    return json.dumps({"apiVersion": "apportion.dev/v1", **document}, indent=2) + "\n"


_LISTED = {"text": _listed_text, "json": _listed_json, "md": _listed_md}
_SHOWN = {"text": _shown_text, "json": _shown_json, "md": _shown_md}
