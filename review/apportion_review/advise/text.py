"""Advice as text with 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from apportion_api.counted_nouns import agreeing, counted
from apportion_review.advise.records import Advice, GoalResult, PoolChange, QuotaChange

_WIDTH = 80


def advice_text(advice: Advice) -> str:
    """Return advice as text: the decision, the goals, the changes and the patch."""
    paragraphs = [_headline(advice), *_goals(advice)]
    if advice.changes:
        paragraphs.append(_table([("queue", "quota", "now", "then", ""), *map(_change_row, advice.changes)]))
    if advice.pool_changes:
        paragraphs.append(_table([("node pool", "now", "then", ""), *map(_pool_row, advice.pool_changes)]))
    for pool in advice.unpatched_pools:
        paragraphs.append(
            _wrapped(
                f"{pool.place}: set `max_nodes` of node pool `{pool.pool}` to {pool.after}; the value is not a literal that a patch can replace."
            )
        )
    for change in advice.unpatched:
        paragraphs.append(
            _wrapped(
                f"{change.place}: set `{change.field}` of queue `{change.queue}` to {change.after}; the value is not a literal that a patch can replace."
            )
        )
    paragraphs += [_wrapped(f"Note: {note}.") for note in (*advice.notes, *_sampled(advice), *_stopped(advice))]
    paragraphs += _runs(advice)
    return "\n\n".join(paragraphs) + "\n" + (f"\n{advice.patch}" if advice.patch else "")


def _headline(advice: Advice) -> str:
    n_runs, n_goals = counted(len(advice.runs), "simulation"), counted(len(advice.goals), "goal")
    if advice.is_met and not advice.has_changes:
        return f"{advice.cluster}: the policy meets {'the goal' if len(advice.goals) == 1 else f'the {n_goals}'}."
    if advice.is_met:
        n_changes = len(advice.changes) + len(advice.pool_changes)
        return _wrapped(
            f"{advice.cluster}: {_counted_changes(advice)} {agreeing(n_changes, 'meets', 'meet')} {'the goal' if len(advice.goals) == 1 else f'the {n_goals}'} ({n_runs})."
        )
    most = "" if advice.required else f" of at most {advice.max_runs}"
    hopeless = [result for result in advice.goals if not result.is_attainable]
    if hopeless:
        return _wrapped(
            f"{advice.cluster}: no quotas were found that meet the goal for the {_listed(hopeless)} ({n_runs})."
        )
    return _wrapped(
        f"{advice.cluster}: no quotas were found that meet {'the goal' if len(advice.goals) == 1 else f'the {n_goals}'} ({n_runs}{most})."
    )


def _stopped(advice: Advice) -> Iterator[str]:
    if advice.stopped:
        more = "a smaller change may exist" if advice.is_met else "a longer search may find one"
        yield f"the search was stopped by {'an interrupt' if advice.is_interrupted else advice.stopped}; {more}"


def _sampled(advice: Advice) -> Iterator[str]:
    if any(run.is_sample for run in advice.runs):
        n_whole = sum(not run.is_sample for run in advice.runs)
        yield (
            f"the search used a sample with one of every {advice.sample} jobs and nodes; "
            f"{agreeing(n_whole, f'{n_whole} simulation has', f'{n_whole} simulations have')} the whole load"
            + (", among them that of the printed change, and a smaller change may exist" if advice.has_changes else "")
        )


def _runs(advice: Advice) -> Iterator[str]:
    """Yield a table of the simulations, without the quotas that were never changed, if it is narrow enough."""
    if len(advice.runs) < 2:
        return
    varied = [
        index
        for index, values in enumerate(zip(*(run.quotas for run in advice.runs), strict=True))
        if len(set(values)) > 1
    ]
    head = [advice.columns[index].removesuffix(" guaranteed gpu") for index in varied]
    rows = [("simulation", *head, *(result.goal.subject for result in advice.goals))]
    for number, run in enumerate(advice.runs, 1):
        values = (
            ("missed",) * len(advice.goals)
            if run.values is None
            else tuple(result.goal.amount_text(value) for result, value in zip(advice.goals, run.values, strict=True))
        )
        label = f"{number} (sample)" if run.is_sample else str(number)
        rows.append((label, *(str(run.quotas[index]) for index in varied), *values))
    table = _table(rows)
    if len(table.partition("\n")[0]) <= _WIDTH:
        yield table
    else:
        yield _wrapped(f"-o json lists the {len(advice.runs)} simulations.")


def _listed(results: Sequence[GoalResult]) -> str:
    return " or the ".join(result.goal.subject for result in results)


def _goals(advice: Advice) -> Iterator[str]:
    # If no change is proposed, `then` is the closest found.
    then = "closest" if not advice.is_met else "then"
    has_after = len(advice.runs) > 1
    has_costs = len(advice.goals) > 1 and all(result.cost is not None for result in advice.goals)
    rows = [("goal", "at most", "now", *((then,) if has_after else ()), *(("alone",) if has_costs else ()))]
    for result in advice.goals:
        goal = result.goal
        after = (goal.amount_text(result.after),) if has_after else ()
        cost = (counted(result.cost, "GPU") if result.cost else "no change",) if has_costs else ()
        rows.append((goal.subject, goal.amount_text(goal.bound), goal.amount_text(result.before), *after, *cost))
    yield _table(rows)
    yield from _required(advice)
    more_nodes = " and the largest node pools that were tried" if advice.searches_pools else ""
    requires = "less load" if advice.searches_pools else "more GPUs (add --pool to search pool sizes) or less load"
    for result in advice.goals:
        if not result.is_attainable and result.at_best is not None:
            yield _wrapped(
                f"Even with the largest possible guarantee{more_nodes}, the {result.goal.subject} is {result.goal.amount_text(result.at_best)}: the goal requires {requires}."
            )


def _required(advice: Advice) -> Iterator[str]:
    """Yield why goals exclude each other."""
    if advice.required:
        parts = [
            f"the {advice.goals[number].goal.subject} requires more than {counted(n_gpus, 'guaranteed GPU')}"
            for number, n_gpus in advice.required
        ]
        yield _wrapped(
            f"In these simulations, {', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]}, but the guarantees do not leave enough GPUs: the goals require more GPUs or less load."
        )


def _counted_changes(advice: Advice) -> str:
    parts = []
    if advice.changes:
        parts.append(counted(len(advice.changes), "changed quota"))
    if advice.pool_changes:
        parts.append(counted(len(advice.pool_changes), "larger node pool"))
    return " and ".join(parts)


def _pool_row(change: PoolChange) -> tuple[str, ...]:
    return change.pool, counted(change.before, "node"), counted(change.after, "node"), change.place


def _change_row(change: QuotaChange) -> tuple[str, ...]:
    return change.queue, f"{change.field} {change.resource}", change.before, change.after, change.place


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
