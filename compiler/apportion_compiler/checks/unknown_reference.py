"""AP109: a reference to an undeclared object. AP101 reports parents of queues, AP302 topologies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date

from apportion_compiler.checks.references import (
    CLASS,
    ENVIRONMENT,
    PLAN,
    POOL,
    QUEUE,
    RULE,
    RULES_ADDRESS,
    Reference,
    cluster_kind,
    references,
)
from apportion_compiler.checks.suggestions import is_misspelt, is_one_character_more, one_digit_off, suggester
from apportion_compiler.diagnostics.diagnostic import Applicability, Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.declarations import Declarations
from apportion_policy.policy import Policy, RuleSeverity

UNKNOWN_REFERENCE = Rule(
    "AP109", "unknown-reference", Severity.ERROR, "a declaration references an undeclared object", required=True
)


def unknown_reference(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Check every reference between declarations."""
    # Imported here, because the table of rules imports this module.
    from apportion_compiler.checks import RULES

    known: Mapping[str, Collection[str]] = {
        QUEUE: declarations.by_id,
        POOL: declarations.pools,
        CLASS: declarations.priority_classes,
        PLAN: declarations.plans,
        ENVIRONMENT: declarations.environments,
        RULE: RULES,
        **{
            cluster_kind(environment.name): [cluster.name for cluster in environment.clusters]
            for environment in declarations.policy.environments
        },
    }
    suggest = {kind: suggester(names) for kind, names in known.items()}
    unknown = [reference for reference in references(declarations) if reference.name not in known[reference.kind]]
    lists = _lists(references(declarations)) if unknown else {}
    for reference in unknown:
        # Codes differ in digits: the most similar code is rarely the intended one.
        meant = suggest[reference.kind](reference.name) if reference.kind != RULE else None
        # A pool with a similar name may belong to another environment: an excluded pool is the likely target.
        near = None
        if reference.kind == POOL and meant is not None and not is_misspelt(reference.name, meant, known[POOL]):
            near = meant if is_one_character_more(reference.name, meant) else one_digit_off(reference.name, known[POOL])
            meant = None
        yield _finding(reference, meant, near, again=(meant or near) in lists.get(_list_of(reference), ()))
    yield from _relaxed(declarations.policy, {code for code, rule in RULES.items() if rule.required})


_HINTS: Mapping[str, str] = {
    RULE: "run `apportion rules` to list the codes",
    POOL: "add it to `node_pools` in the policy, or remove the reference",
}


def _lists(held: Iterable[Reference]) -> Mapping[tuple[str, ...], set[str]]:
    """Return the names in each list of names."""
    lists: dict[tuple[str, ...], set[str]] = {}
    for reference in held:
        if reference.path[-1].isdigit():
            lists.setdefault(_list_of(reference), set()).add(reference.name)
    return lists


def _list_of(reference: Reference) -> tuple[str, ...]:
    return (reference.address, *reference.path[:-1])


def _finding(reference: Reference, meant: str | None, near: str | None, *, again: bool) -> Diagnostic:
    kind, name, path, address, at = reference
    who = address if address != RULES_ADDRESS else "`severity`"
    if meant is not None:
        hint = f"use `{meant}` instead" if not again else f"remove `{name}`: `{meant}` is already listed"
    elif near is not None:
        hint = f"use `{near}` if you mean that pool; otherwise, add `{name}` to `node_pools` in the policy"
    else:
        hint = _HINTS.get(kind, "declare it, or remove the reference")
    # A mapping's key is not a value, and cannot be edited on its own.
    is_value = path[-1] != name
    written = meant or near
    return Diagnostic(
        UNKNOWN_REFERENCE,
        address,
        f"{who} references the {kind} `{name}`, which {'does not exist' if kind == RULE else 'is not declared'}",
        at,
        hint=hint,
        # Only the author knows whether another pool is intended: the edit is unsafe, and marks the line of the name.
        fix=ValueEdit(at, path, written) if written is not None and is_value and not again else None,
    )


def _relaxed(policy: Policy, required: Collection[str]) -> Iterator[Diagnostic]:
    for code, severity in policy.rules.severity.items():
        if code in required and severity is not RuleSeverity.ERROR:
            yield Diagnostic(
                UNKNOWN_REFERENCE,
                f"rule {code}",
                f"{code} is set to {severity.value}, but is always an error, because it prevents compilation",
                policy.rules.source,
                hint=f"remove {code} from `severity`",
                fix=ValueEdit(policy.rules.source, ("severity", code), None, Applicability.SAFE),
            )
