"""Hints on a cluster with a share: applying the hint resolves the finding."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date

import pytest

from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Policy,
    Queue,
    QueueOverride,
    Resources,
    Rules,
)

Gpus = int | dict[str, int]

_AMOUNT = r"\d+ (?:H100|L4|GPUs)"


def _policy(parent: Gpus, children: list[Gpus], cluster: Cluster, nodes: int, overcommit: str) -> Policy:
    """Return a policy whose teams are guaranteed what an environment says: only there may it be too much."""
    teams = tuple(Queue(id=f"team-{i}", parent="product", namespaces=(f"team-{i}",)) for i in range(len(children)))
    overrides = tuple(
        QueueOverride(queue=team.id, guaranteed=Resources(gpu=gpu)) for team, gpu in zip(teams, children, strict=True)
    )
    return Policy(
        organisation=Organisation(name="acme"),
        queues=(Queue(id="product", guaranteed=Resources(gpu=parent)), *teams),
        node_pools=_pools(nodes),
        environments=(Environment(name="prod", clusters=(cluster,), overrides=overrides),),
        rules=Rules(overcommit=overcommit),
    )


def _cluster(share: str, engine: Engine) -> Cluster:
    version = "0.17.0" if engine is Engine.KAI else "0.18.3"
    return Cluster(name="hall", engine=engine, engine_version=version, pools=("h100", "l4"), share=share)


def _pools(n_nodes: int) -> tuple[NodePool, ...]:
    return tuple(
        NodePool(id=model, provider=Fixed(), accelerator=Accelerator(model=model, count=4), max_nodes=n_nodes)
        for model in ("h100", "l4")
    )


def _found(policy: Policy, code: str) -> list[Diagnostic]:
    return [d for d in check_policy(policy, date(2026, 11, 21)).diagnostics if d.code == code and d.scope]


def _cures(hint: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield each change that a hint proposes: a queue, and the GPUs to write."""
    for queue, amounts in re.findall(
        rf"`([\w-]+)` (?:to )?({_AMOUNT}(?: and {_AMOUNT})*)", re.sub(r" \([^)]*\)", "", hint)
    ):
        yield queue, {amount.split()[1].lower(): int(amount.split()[0]) for amount in amounts.split(" and ")}


def _written(policy: Policy, id_: str, gpu: dict[str, int]) -> Policy:
    def changed(old: Resources | None) -> dict[str, Resources]:
        held = old.gpu if old is not None and isinstance(old.gpu, dict) else {}
        return {"guaranteed": Resources(gpu=gpu.get("gpus", {**held, **gpu}))}

    (prod,) = policy.environments
    queues = tuple(q.model_copy(update=changed(q.guaranteed)) if q.id == id_ else q for q in policy.queues)
    overrides = tuple(o.model_copy(update=changed(o.guaranteed)) if o.queue == id_ else o for o in prod.overrides)
    prod = prod.model_copy(update={"overrides": overrides})
    return policy.model_copy(update={"queues": queues, "environments": (prod,)})


def _n_cured(policy: Policy, code: str) -> int:
    """Apply each change that the findings of a code propose; none leaves the finding. Return how many there were."""
    n_cured = 0
    for finding in _found(policy, code):
        for queue, gpu in _cures(finding.hint or ""):
            left = _found(_written(policy, queue, gpu), code)
            units = {"GPUs" if unit == "gpus" else unit.upper() for unit in gpu}
            same = [
                d.message for d in left if d.address == finding.address and units & set(re.findall(r"\w+", d.message))
            ]
            assert not same, (finding.message, finding.hint, same)
            n_cured += 1
    return n_cured


def _declared(rng: random.Random) -> tuple[Gpus, list[Gpus]]:
    """Return what a parent and its children are guaranteed: by model, or a total above either."""

    def models() -> Gpus:
        return {"h100": rng.randint(1, 20), "l4": rng.randint(1, 20)}

    if rng.random() < 0.5:
        return models(), [models() for _ in range(3)]
    return rng.randint(1, 60), [models() if rng.random() < 0.5 else rng.randint(1, 40) for _ in range(3)]


@pytest.mark.parametrize("share", ["1/4", "2/3", "0.9"])
@pytest.mark.parametrize(
    ("code", "engine", "overcommit"),
    [
        ("AP201", Engine.KAI, "1"),
        ("AP201", Engine.KAI, "1.5"),
        ("AP506", Engine.KUEUE, "3"),
        ("AP601 AP602", Engine.KAI, "1"),
    ],
)
def test_following_a_hint_clears_the_finding(share: str, code: str, engine: Engine, overcommit: str) -> None:
    rng = random.Random(share)
    n_cured = 0
    for _ in range(4):
        parent, children = _declared(rng)
        policy = _policy(parent, children, _cluster(share, engine), rng.randint(1, 3), overcommit)
        n_cured += sum(_n_cured(policy, each) for each in code.split())
    assert n_cured
