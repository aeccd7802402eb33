"""The files of a policy: `policy.py` for the platform team's declarations, and one in `teams/` for each team."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.kubernetes_names import is_subdomain
from apportion_compiler.policy_writer.declarations import DeclaredPolicy, PolicyIdentity, declare_record
from apportion_compiler.policy_writer.expressions import WIDTH, Atom, Expression, call, formatted, imported, sequence
from apportion_compiler.policy_writer.python_names import constants, modules
from apportion_compiler.policy_writer.python_source import Names, expression_of
from apportion_compiler.readers.record import ImportRecord, Note
from apportion_policy.evaluation.sanitized_text import plain_text
from apportion_policy.policy import Organisation
from apportion_policy.priority import DEFAULT_PRIORITY_CLASSES
from apportion_policy.queue import Queue

ENTRY = "policy.py"
TEAMS = "teams"
_ENVIRONMENT = ("environment", "")


def policy_files(record: ImportRecord, identity: PolicyIdentity) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """Return the texts by file name, and the notes, which are also included as comments.

    Raises:
        UnwritableError: If a policy cannot represent a value.
    """
    declared = declare_record(record, identity)
    platform, teams = _teams(declared.queues)
    stems = modules(team[0].id for team in teams)
    file_of = {queue.id: f"{TEAMS}/{stems[team[0].id]}.py" for team in teams for queue in team}
    by_file = _by_file(declared.notes, record, file_of)
    files = {ENTRY: _entry(declared, identity, platform, by_file.get(ENTRY, ()), has_teams=bool(teams))}
    for team in teams:
        name = file_of[team[0].id]
        files[name] = _team(team, by_file.get(name, ()))
    return files, declared.notes


def _teams(queues: Sequence[Queue]) -> tuple[Sequence[Queue], Sequence[Sequence[Queue]]]:
    """Return the queues above all teams, and the subtree of each team.

    A team is a top-level queue; if there is only one and it has children, it is the organisation, and its children are
    teams.
    """
    children: dict[str | None, list[Queue]] = {}
    for queue in queues:
        children.setdefault(None if queue.parent is None else str(queue.parent), []).append(queue)
    platform: list[Queue] = []
    tops = children.get(None, [])
    while len(tops) == 1 and len(children.get(tops[0].id, [])) > 1:
        platform.append(tops[0])
        tops = children[tops[0].id]
    teams: list[list[Queue]] = []
    for top in tops:
        team, stack = [], [top]
        while stack:
            queue = stack.pop()
            team.append(queue)
            stack.extend(reversed(children.get(queue.id, [])))
        teams.append(team)
    return platform, teams


def _by_file(notes: Iterable[Note], record: ImportRecord, file_of: Mapping[str, str]) -> Mapping[str, list[Note]]:
    of_object = {queue.object: file_of.get(queue.id, ENTRY) for queue in record.queues}
    by_file: dict[str, list[Note]] = {}
    for note in notes:
        by_file.setdefault(of_object.get(note.object, ENTRY), []).append(note)
    return by_file


def _team(queues: Sequence[Queue], notes: Sequence[Note]) -> str:
    top = queues[0].id
    named = constants({queue.id: queue.id for queue in queues})
    names: Names = {("parent", id_): name for id_, name in named.items()}
    statements = {named[queue.id]: expression_of(queue, names) for queue in queues}
    docstring = f"Queue `{top}`" if is_subdomain(top) and len(top) < WIDTH // 2 else "A queue"
    return _module(f"{docstring}{' and its descendants' if len(queues) > 1 else ''}.", notes, statements)


def _entry(
    declared: DeclaredPolicy,
    identity: PolicyIdentity,
    platform: Sequence[Queue],
    notes: Sequence[Note],
    *,
    has_teams: bool,
) -> str:
    named = constants(
        {
            **{("provisioning", plan.id): plan.id for plan in declared.plans},
            **{("pools", pool.id): pool.id for pool in declared.pools},
            **{("parent", queue.id): queue.id for queue in platform},
            _ENVIRONMENT: identity.environment,
        }
    )
    # A queue references pools by id, as in the teams' files; the cluster uses the declarations.
    parents = {key: name for key, name in named.items() if key[0] == "parent"}
    plans = {key: name for key, name in named.items() if key[0] == "provisioning"}
    statements: dict[str, Expression] = {named["provisioning", p.id]: expression_of(p, {}) for p in declared.plans}
    statements.update((named["pools", p.id], expression_of(p, plans)) for p in declared.pools)
    statements.update((named["parent", q.id], expression_of(q, parents)) for q in platform)
    statements[named[_ENVIRONMENT]] = expression_of(declared.environment, named)
    organisation = Organisation(name=identity.organisation, owner=identity.owner)
    fields: dict[str, Expression] = {"organisation": expression_of(organisation, {})}
    queues: list[Expression] = [Atom(named["parent", q.id]) for q in platform]
    collected = Atom(f'collect("{TEAMS}", Queue)', ("collect", "Queue"))
    if queues:
        teams = [Atom(f"*{collected.text}", collected.names)] if has_teams else []
        fields["queues"] = sequence((*queues, *teams))
    elif has_teams:
        fields["queues"] = collected
    if declared.priority_classes != DEFAULT_PRIORITY_CLASSES:
        fields["priority_classes"] = expression_of(declared.priority_classes, {})
    if declared.pools:
        fields["node_pools"] = sequence(tuple(Atom(named["pools", p.id]) for p in declared.pools))
    if declared.plans:
        fields["provisioning_plans"] = sequence(tuple(Atom(named["provisioning", p.id]) for p in declared.plans))
    fields["environments"] = sequence((Atom(named[_ENVIRONMENT]),))
    statements["policy"] = call("Policy", fields)
    title = TRAITS[identity.engine.value].title
    return _module(f"A policy imported from {title} objects. Each team owns one file in `{TEAMS}/`.", notes, statements)


def _module(docstring: str, notes: Sequence[Note], statements: Mapping[str, Expression]) -> str:
    """Return a module: docstring, notes, imports, and declarations."""
    names = sorted({name for e in statements.values() for name in imported(e)}, key=_import_order)
    # The docstring comes first: a comment in the first two lines could be interpreted as the file's encoding.
    parts = [f'"""{docstring}"""', *([_comments(notes)] if notes else []), _import(names)]
    parts += [formatted(f"{name} = ", expression) for name, expression in statements.items()]
    return "\n\n".join(parts) + "\n"


def _comments(notes: Sequence[Note]) -> str:
    lines = ["# Values that the import dropped or had to guess:"]
    for note in notes:
        text = plain_text(f"{note.object}: {note.text}")
        lines += textwrap.wrap(
            text, WIDTH, initial_indent="# * ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


def _import(names: Sequence[str]) -> str:
    line = f"from apportion_policy import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join(("from apportion_policy import (", *(f"    {name}," for name in names), ")"))


def _import_order(name: str) -> tuple[int, str]:
    """Return the sort key of an import: constants, then classes, then functions, as in ruff."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)
