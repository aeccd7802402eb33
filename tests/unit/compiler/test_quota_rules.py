"""Quota rules with different clusters, overrides and engines, beyond the case of each rule."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_policy import (
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    NodePool,
    Organisation,
    Override,
    Policy,
    PriorityClass,
    Queue,
    QueueOverride,
    Resources,
    Rules,
)

AS_OF = date(2026, 11, 21)
_VERSIONS = {Engine.KAI: "0.17.0", Engine.YUNIKORN: "1.7.0", Engine.KUEUE: "0.18.3", Engine.NATIVE: "1.34"}


def found(policy: Policy, code: str) -> list[Diagnostic]:
    return [d for d in check_policy(policy, AS_OF).diagnostics if d.code == code]


def said(policy: Policy, code: str) -> list[tuple[str, str | None, str]]:
    """Address, scope and severity of each finding."""
    return [(d.address, d.scope, d.effective_severity.value) for d in found(policy, code)]


def organisation(*queues: Queue, **fields: object) -> Policy:
    return Policy.model_validate(
        {"organisation": Organisation(name="acme", owner="@acme/platform"), "queues": queues, **fields}
    )


def cluster(name: str, engine: Engine = Engine.KAI, **fields: object) -> Cluster:
    return Cluster.model_validate({"name": name, "engine": engine, "engine_version": _VERSIONS[engine], **fields})


def environment(name: str, *clusters: Cluster, overrides: tuple[QueueOverride, ...] = ()) -> Environment:
    return Environment(name=name, clusters=clusters, overrides=overrides)


def test_many_children_are_listed_by_size_and_summed_beyond_eight() -> None:
    teams = tuple(Queue(id=f"team-{i:02d}", parent="research", guaranteed=Resources(gpu=i)) for i in range(1, 13))
    (finding,) = found(organisation(Queue(id="research", guaranteed=Resources(gpu=8)), *teams), "AP201")
    assert finding.message == "children are guaranteed 78 GPUs, but `research` has 8 GPUs"
    assert [related.message for related in finding.related if related.message != "called here"] == [
        *(f"`team-{i:02d}` is guaranteed {i} GPUs" for i in range(5, 13)),
        "`team-04` and the others are guaranteed 10 GPUs",
    ]
    # No team has 70 GPUs to give back.
    assert finding.hint == "raise the guarantee of `research` to 78 GPUs"


def test_overcommit_is_included_in_the_needed_amount() -> None:
    policy = organisation(
        Queue(id="research", guaranteed=Resources(gpu=8)),
        Queue(id="llm", parent="research", guaranteed=Resources(gpu=14)),
        rules=Rules(overcommit="1.5"),
    )
    (finding,) = found(policy, "AP201")
    assert finding.message == ("children are guaranteed 14 GPUs, but `research` has 8 GPUs and an overcommit of 1.5")
    assert finding.hint == "raise the guarantee of `research` to 10 GPUs, or lower the guarantee of `llm` by 2 GPUs"


def test_environment_override_is_reported_for_its_cluster() -> None:
    policy = organisation(
        Queue(id="vision", guaranteed=Resources(gpu=4), limit=Resources(gpu=8)),
        environments=(
            environment("dev", cluster("d"), overrides=(QueueOverride(queue="vision", limit=Resources(gpu=2)),)),
            environment("prod", cluster("p")),
        ),
    )
    (finding,) = found(policy, "AP202")
    assert (finding.scope, finding.fix) == ("dev/d", None)
    assert finding.message == "`vision` is guaranteed 4 GPUs, but its limit is 2 GPUs"


def test_limit_above_parent_is_reported_once() -> None:
    policy = organisation(
        Queue(id="research", limit=Resources(gpu=4)),
        Queue(id="vision", parent="research", guaranteed=Resources(gpu=6)),
    )
    assert said(policy, "AP202") == [("queue research", None, "error")]


def test_overcommitted_child_above_an_ancestor_limit() -> None:
    policy = organisation(
        Queue(id="research", guaranteed=Resources(gpu=4), limit=Resources(gpu=4)),
        Queue(id="vision", parent="research", guaranteed=Resources(gpu=6)),
        rules=Rules(overcommit=2),
    )
    (finding,) = found(policy, "AP202")
    assert finding.message == "`vision` is guaranteed 6 GPUs, but its ancestor `research` is limited to 4 GPUs"
    assert finding.fix is not None
    assert (finding.fix.path, finding.fix.value) == (("gpu",), 4)


@pytest.mark.parametrize(
    ("engine", "severity", "effect"),
    [
        (Engine.KAI, "warning", "KAI limits it to 8 GPUs"),
        (Engine.KUEUE, "warning", "Kueue limits it to 8 GPUs"),
        (Engine.YUNIKORN, "error", "YuniKorn rejects the whole configuration"),
        (Engine.NATIVE, "warning", "ResourceQuotas enforce only the namespace's limit"),
    ],
)
def test_severity_of_limit_above_parent_depends_on_engine(engine: Engine, severity: str, effect: str) -> None:
    policy = organisation(
        Queue(id="research", limit=Resources(gpu=8)),
        Queue(id="vision", parent="research", limit=Resources(gpu=16)),
        environments=(environment("prod", cluster("a", engine)),),
    )
    (finding,) = found(policy, "AP203")
    assert finding.effective_severity.value == severity
    assert finding.message.endswith(effect)


def test_override_above_limit_is_reported_once_for_each_engine() -> None:
    clusters = (cluster("a"), cluster("b"), cluster("c", Engine.YUNIKORN))
    policy = organisation(
        Queue(id="research", limit=Resources(gpu=8)),
        Queue(id="vision", parent="research", limit=Resources(gpu=8)),
        environments=(
            environment("prod", *clusters, overrides=(QueueOverride(queue="vision", limit=Resources(gpu=16)),)),
        ),
    )
    assert said(policy, "AP203") == [("queue vision", "prod/a", "warning"), ("queue vision", "prod/c", "error")]


def test_unlimited_model_below_a_total_and_beside_other_models() -> None:
    policy = organisation(
        Queue(id="research", guaranteed=Resources(gpu=64)),
        Queue(id="llm", parent="research", guaranteed=Resources(gpu={"h100": UNLIMITED})),
        Queue(id="vision", parent="research", guaranteed=Resources(gpu={"a100": 16})),
    )
    (finding,) = found(policy, "AP204")
    assert finding.message == "`llm` is guaranteed unlimited H100, but `research` is guaranteed 64 GPUs"


def test_unlimited_gpus_are_bounded_by_capacity() -> None:
    pool = NodePool(id="gpu", cpu=96, memory="1Ti", accelerator=Accelerator(model="h100", count=8), max_nodes=2)
    everything = Resources(cpu=UNLIMITED, memory=UNLIMITED, gpu=UNLIMITED)
    policy = organisation(
        Queue(id="research", guaranteed=everything),
        node_pools=(pool,),
        environments=(environment("prod", cluster("a", pools=("gpu",))),),
    )
    (finding,) = found(policy, "AP204")
    assert finding.effective_severity.value == "warning"
    assert "the node pools of `prod` have 16 GPUs" in finding.message


def test_queue_closed_by_an_override_is_a_warning_at_the_override() -> None:
    freeze = Override(
        begin=date(2026, 11, 1),
        end=date(2026, 11, 30),
        reason="migration",
        owner="@acme/platform",
        limit=Resources(cpu=0),
    )
    policy = organisation(Queue(id="vision", limit=Resources(cpu=64), overrides=(freeze,)))
    (finding,) = found(policy, "AP205")
    assert finding.effective_severity.value == "warning"
    assert finding.at.line == freeze.source.line


def test_missing_pools_of_an_environment_are_a_warning() -> None:
    pools = (NodePool(id="h100", max_nodes=2), NodePool(id="l4", max_nodes=2))
    policy = organisation(
        Queue(id="research", pools=("h100",), children=(Queue(id="vision"), Queue(id="llm", pools=("l4", "h100")))),
        node_pools=pools,
        environments=(
            environment("dev", cluster("d", pools=("l4",))),
            environment("prod", cluster("p", pools=("h100",)), cluster("q", pools=("l4",))),
        ),
    )
    assert said(policy, "AP205") == [("queue research", "dev/d", "warning")]


def test_engines_differ_in_bounding_non_preemptible_work() -> None:
    def on(*engines: Engine) -> list[tuple[str, str | None, str]]:
        policy = organisation(
            Queue(id="vision", guaranteed=Resources(cpu=8, gpu=8)),
            Queue(id="serving", guaranteed=Resources(gpu=8), priority_classes=("inference",)),
            environments=(environment("prod", *(cluster(f"c{i}", engine) for i, engine in enumerate(engines))),),
        )
        return said(policy, "AP205")

    assert on(Engine.KUEUE) == []
    assert on(Engine.KUEUE, Engine.KAI) == [("queue serving", "prod/c1", "error")]
    assert on(Engine.KAI, Engine.KAI) == [("queue serving", None, "error")]


def test_cluster_default_reclaim_min_runtime_applies() -> None:
    queues = (
        Queue(id="production"),
        Queue(id="research"),
        Queue(id="vision", parent="research", reclaim_min_runtime="1h"),
        Queue(id="llm", parent="research"),
    )
    held = cluster("held", kai=KaiSettings(reclaim_min_runtime="1h"))
    flat = cluster("flat", kai=KaiSettings(full_hierarchy_fairness=False))
    assert said(organisation(*queues, environments=(environment("prod", held),)), "AP208") == []
    assert said(organisation(*queues, environments=(environment("prod", flat),)), "AP208") == []
    both = organisation(*queues, environments=(environment("prod", held, cluster("bare")),))
    assert said(both, "AP208") == [("queue vision", "prod/bare", "warning")]


def test_reclaim_min_runtime_fix_is_a_single_value() -> None:
    def fix(root: str | None, department: str | None) -> tuple[int, object] | None:
        policy = organisation(
            Queue(
                id="acme",
                reclaim_min_runtime=root,
                children=(
                    Queue(
                        id="research",
                        reclaim_min_runtime=department,
                        children=(Queue(id="vision", reclaim_min_runtime="1h"), Queue(id="llm")),
                    ),
                    Queue(id="production"),
                ),
            ),
            Queue(id="other"),
        )
        (finding,) = [d for d in found(policy, "AP208") if d.address == "queue vision"]
        return None if finding.fix is None else (finding.fix.at.line, finding.fix.value)

    # Nobody has a value: the uppermost hands it down; the root's is too small for both levels; each has its own.
    assert fix(None, None) == fix("5m", None)
    assert fix("5m", "10m") is None


def test_kueue_refuses_lending_above_the_guarantee_of_leaves() -> None:
    policy = organisation(
        Queue(id="research", lending_limit=Resources(gpu=32)),
        Queue(id="vision", parent="research", guaranteed=Resources(gpu=8), lending_limit=Resources(gpu=16)),
        environments=(environment("prod", cluster("a", Engine.KUEUE)),),
    )
    assert said(policy, "AP209") == [("queue research", None, "warning"), ("queue vision", None, "error")]


def test_equal_priority_fix_preserves_order() -> None:
    def moved(*values: int) -> object:
        classes = tuple(PriorityClass(name=f"c{i}", value=value) for i, value in enumerate(values))
        fix = found(organisation(priority_classes=classes), "AP404")[0].fix
        return fix.value if fix is not None else None

    assert moved(50, 50, 51) == 52
    # 100 would be non-preemptible on KAI, and more than a billion is refused.
    assert moved(99, 99) == 98
    assert moved(10**9, 10**9) == 10**9 - 1
