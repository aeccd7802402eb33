"""Properties of node pools with any settings: Karpenter accepts the objects, and shells parse the scripts."""

from __future__ import annotations

import subprocess
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apportion_compiler.backends.nodepools import emit
from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.checks import CHECKS
from apportion_compiler.emit.tree import render_target
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import PolicyGraph, build_graph
from apportion_compiler.ir.lower import lower
from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Ack,
    Cluster,
    Eks,
    Engine,
    Environment,
    Gke,
    Karpenter,
    Maintenance,
    MaintenanceExclusion,
    MaintenanceWindow,
    Mig,
    Mps,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
    Resources,
    TimeSlicing,
)

from ..conformance.schemas import errors
from .strategies import AS_OF

pytestmark = pytest.mark.property

DWS = ProvisioningPlan(id="dws", max_run_duration="2h")
_tags = st.sampled_from(({}, {"karpenter.sh/discovery": "prod"}))
_text = st.sampled_from(("a", "it's", "$(x)", "a b", "日本", '"'))
_providers = st.one_of(
    st.builds(
        Gke,
        release_channel=st.sampled_from(("none", "regular")),
        auto_repair=st.booleans(),
        auto_upgrade=st.booleans(),
        location_policy=st.sampled_from(("ANY", "BALANCED")),
        reservation_affinity=st.sampled_from(("none", "any", "specific")),
        autoscaling=st.booleans(),
        flex_start=st.booleans(),
        compact_placement=st.booleans(),
        node_auto_provisioning=st.booleans(),
    ),
    st.builds(
        Ack,
        pool_type=st.sampled_from(("ess", "lingjun")),
        spot_strategy=st.sampled_from(("NoSpot", "SpotWithPriceLimit")),
        vswitches=st.sampled_from(((), ("vsw-1",))),
    ),
    st.builds(
        Eks,
        managed=st.booleans(),
        capacity_block=st.booleans(),
        subnets=st.sampled_from(((), ("subnet-1", "subnet-2"))),
        node_role=st.none() | st.just("arn:role"),
    ),
    st.builds(
        Karpenter,
        static_nodes=st.booleans(),
        consolidation=st.sampled_from(("WhenEmpty", "WhenEmptyOrUnderutilized")),
        role=st.none() | st.just("nodes"),
        ami_alias=st.none() | st.just("al2023@latest"),
        subnet_tags=_tags,
        security_group_tags=_tags,
    ),
)
_windows = st.builds(
    MaintenanceWindow,
    start=st.just("2026-01-03T02:00:00Z"),
    end=st.sampled_from(("2026-01-03T06:30:00Z", "2026-01-03T01:00:00Z", "2026-01-05T00:00:00Z")),
    recurrence=st.sampled_from(("FREQ=DAILY", "FREQ=WEEKLY;BYDAY=SA", "FREQ=WEEKLY;BYDAY=SU", "FREQ=MONTHLY")),
)
_exclusion = MaintenanceExclusion(name="launch", start="2026-12-01T00:00:00Z", end="2026-12-20T00:00:00Z")


@st.composite
def _pool(draw: st.DrawFn, id_: str) -> NodePool:
    provider = draw(_providers)
    gpus = draw(
        st.none()
        | st.builds(
            Accelerator,
            model=st.sampled_from(("h100", "l4")),
            count=st.integers(1, 8),
            provider_name=st.none() | _text,
        )
    )
    least, more = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    return NodePool(
        id=id_,
        provider=provider,
        machine_type=draw(st.none() | _text if provider.kind != "karpenter" else st.none() | st.just("p5.48xlarge")),
        accelerator=gpus,
        min_nodes=least,
        max_nodes=least + more,
        labels=draw(st.sampled_from(({}, {"acme.example/tier": "gold", "cloud.google.com/gke-nodepool": "x"}))),
        taints=draw(st.sampled_from(((), (GPU_TAINT,)))),
        spot=draw(st.booleans()),
        zones=draw(st.sampled_from(((), ("zone-a",), ("zone-a", "zone-b")))),
        maintenance=draw(
            st.none() | st.builds(Maintenance, window=st.none() | _windows, exclusions=st.just((_exclusion,)))
        ),
        sharing=draw(
            st.sampled_from((None, TimeSlicing(clients=4), Mps(clients=2), Mig(profile="1g.5gb", instances=7)))
        ),
        reservation=draw(st.none() | st.just("cr-0123")),
        provisioning=draw(st.sampled_from((None, DWS))),
    )


@st.composite
def _graphs(draw: st.DrawFn) -> PolicyGraph:
    ids = draw(st.lists(st.sampled_from(("a", "b-2", "c" * 60, "8-gpus")), min_size=1, max_size=3, unique=True))
    pools = tuple(draw(_pool(id_)) for id_ in ids)
    engine = draw(st.sampled_from((Engine.KAI, Engine.KUEUE, Engine.VOLCANO)))
    policy = Policy(
        organisation=Organisation(name="acme"),
        queues=(Queue(id="q", guaranteed=Resources(gpu={"h100": 1})),),
        node_pools=pools,
        provisioning_plans=(DWS,),
        environments=(
            Environment(name="prod", clusters=(Cluster(name="main", engine=engine, engine_version="1", pools=pools),)),
        ),
    )
    return build_graph(declare(policy), AS_OF)


@given(_graphs())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_every_pool_is_emitted_completely(graph: PolicyGraph) -> None:
    program = lower(graph, next(scope for scope in graph.scopes if scope.cluster is not None))
    output = emit(program)
    assert render_target(output, {}) == render_target(emit(program), {})
    assert len({artifact.name for artifact in output.artifacts}) == len(output.artifacts)
    for manifest in output.manifests:
        assert errors(manifest) == [], manifest
        if manifest["kind"] == "NodePool":
            _holds_to_the_rules_in_cel(cast("dict[str, Any]", manifest["spec"]))
    for artifact in output.artifacts:
        if artifact.name.endswith(".sh"):
            read = subprocess.run(["sh", "-n"], input=artifact.content, text=True, capture_output=True, check=False)
            assert read.returncode == 0, read.stderr
    for check in CHECKS:
        assert all(found.message for found in check(graph))


@given(_graphs())
@settings(max_examples=25)
def test_node_labels_distinguish_pools(graph: PolicyGraph) -> None:
    program = lower(graph, next(scope for scope in graph.scopes if scope.cluster is not None))
    made = [pool for pool in program.pools if not getattr(pool.settings, "node_auto_provisioning", False)]
    carried = [node_labels(program, pool)["apportion.dev/node-pool"] for pool in made]
    assert len(set(carried)) == len(made)


def _holds_to_the_rules_in_cel(spec: dict[str, Any]) -> None:
    """Assert the CEL rules (`x-kubernetes-validations`) of karpenter.sh/v1, which JSON Schema does not evaluate."""
    if "replicas" in spec:
        assert set(spec["limits"]) == {"nodes"}
        assert "weight" not in spec
    for budget in spec["disruption"].get("budgets", ()):
        assert ("schedule" in budget) == ("duration" in budget)
    labels = spec["template"]["metadata"]["labels"]
    assert not any(key.split("/")[0].endswith("karpenter.sh") or key == "kubernetes.io/hostname" for key in labels)
