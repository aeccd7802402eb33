"""The A/B simulation of `apportion review`: one scenario or trace under both policies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.scenario_objects import compiled_objects
from apportion_cli.scenario_run import SimulationResult, SimulationTarget, simulate_objects

if TYPE_CHECKING:
    from apportion_cli.trace_input import TraceInput
    from apportion_review.policy_side import PolicySide
    from apportion_review.review import LoadComparison


def compare_loads(
    base: PolicySide, head: PolicySide, clusters: Sequence[str], load: str | TraceInput
) -> tuple[Mapping[str, LoadComparison | str], Mapping[str, str]]:
    """Simulate a load on clusters under both policies.

    Args:
        base: The policy in force.
        head: The changed policy.
        clusters: Clusters of both policies.
        load: A scenario's file, or a trace.

    Returns:
        The comparison for each cluster, or the reason why there is none; and the digests of the load's files.

    Raises:
        PreconditionError: If the load cannot be read.
    """
    from apportion_review.load_comparison import load_comparison
    from apportion_review.renames import find_renames

    files = [load] if isinstance(load, str) else [*load.files, *((load.beside,) if load.beside else ())]
    digests = {f"load {file}": _digest(file) for file in files}
    digest = next(iter(digests.values()))
    renamed = {rename.before: rename.after for rename in find_renames(base.facts, head.facts)}
    found: dict[str, LoadComparison | str] = {}
    for cluster in clusters:
        before, after = _simulated(base, cluster, load), _simulated(head, cluster, load)
        if isinstance(before, str) or isinstance(after, str):
            found[cluster] = before if isinstance(before, str) else str(after)
        else:
            found[cluster] = load_comparison(str(load), digest, before.report, after.report, renamed)
    return found, digests


def _simulated(side: PolicySide, cluster: str, load: str | TraceInput) -> SimulationResult | str:
    if side.compilation is None:
        return f"The load is not simulated: {side.name} {side.why_not_compiled}."
    try:
        objects = compiled_objects(side.compilation, cluster)
    except PreconditionError as refused:
        return f"The load is not simulated: {refused}."
    found = simulate_objects(SimulationTarget(f"{side.name} ({cluster})"), objects, load, keeps_facts=False)
    if found.code != ExitCode.OK:
        raise PreconditionError("the simulation was interrupted")
    return found


def _digest(file: str) -> str:
    try:
        return f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}"
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from refused
