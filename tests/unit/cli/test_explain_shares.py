"""The fair share in `apportion explain queue`: its steps on each level, and the sentence on a sibling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Result, Run

POLICY = """\
apiVersion: apportion.dev/v1
kind: Policy
organisation: {name: acme, owner: "@acme/platform"}
node_pools:
- id: gpus
  provider: {kind: fixed}
  cpu: 96
  memory: 900Gi
  accelerator: {model: h100, count: 8}
  min_nodes: 4
  max_nodes: 4
queues:
- {id: research, guaranteed: {gpu: 20}}
- {id: vision, parent: research, namespaces: [vision], guaranteed: {gpu: 4}, over_quota_weight: 3}
- {id: speech, parent: research, namespaces: [speech], guaranteed: {gpu: 12}, limit: {gpu: 14}}
- {id: serving, namespaces: [serving], guaranteed: {gpu: 4}, over_quota_weight: 2}
environments:
- name: prod
  clusters:
  - {name: kai, engine: kai, engine_version: "0.17.0", pools: [gpus]}
  - {name: koordinator, engine: koordinator, engine_version: "1.7.0", pools: [gpus]}
  - {name: kueue, engine: kueue, engine_version: "0.18.3", pools: [gpus]}
  - {name: volcano, engine: volcano, engine_version: "1.15.0", pools: [gpus]}
  - {name: native, engine: native, engine_version: "1.34", pools: [gpus]}
"""
HEADING = "fair share on prod/"


@pytest.fixture
def explained(run: Run, tmp_path: Path) -> Run:
    """The command on a queue of the policy, with `--env prod`."""
    (tmp_path / "policy.yaml").write_text(POLICY)

    def call(queue: str, cluster: str, *options: str) -> Result:
        return run("explain", "queue", queue, "-p", "policy.yaml", "--env", "prod", "--cluster", cluster, *options)

    return call


def _share(out: str) -> str:
    return out[out.index(HEADING) :]


def test_kai_shows_each_level_and_the_sibling_with_the_largest_share(explained: Run) -> None:
    assert (
        _share(explained("vision", "kai").out)
        == """\
fair share on prod/kai, if every queue requests all resources
`research` gets 23 GPUs of the 32 GPUs in the cluster
  20 GPUs guaranteed
  2 GPUs in surplus round 1: weight 1 of 3 at priority 100, 8 GPUs to divide
  1 GPU from rounding
  20 + 2 + 1 = 23
`vision` gets 9 GPUs of the 23 GPUs in `research`
  4 GPUs guaranteed
  5 GPUs in surplus round 1: weight 3 of 4 at priority 100, 7 GPUs to divide
  4 + 5 = 9
`speech` gets 5 GPUs more than `vision`: 12 versus 4 guaranteed, 1 versus 5 of
  the surplus (weight 1 versus 3, `speech` is at its limit), 1 versus 0 from
  rounding.
"""
    )


def test_koordinator_shows_a_peer_that_gets_less_and_the_limit(explained: Run) -> None:
    assert (
        _share(explained("speech", "koordinator", "--peer", "vision").out)
        == """\
fair share on prod/koordinator, if every queue requests all resources
`research` gets 23 GPUs of the 32 GPUs in the cluster
  20 GPUs guaranteed
  3 GPUs in surplus round 1: weight 1 of 3, 8 GPUs to divide
  20 + 3 = 23
`speech` gets 14 GPUs of the 23 GPUs in `research`
  12 GPUs guaranteed
  2 GPUs in surplus round 1: weight 1 of 4, 7 GPUs to divide
  12 + 2 = 14
  gets no more: its limit is 14 GPUs
`vision` gets 5 GPUs less than `speech`: 4 versus 12 guaranteed, 5 versus 2 of
  the surplus (weight 3 versus 1, `speech` is at its limit).
"""
    )


def test_kueue_divides_what_a_cohort_lends_by_weight(explained: Run) -> None:
    assert (
        _share(explained("vision", "kueue").out)
        == """\
fair share on prod/kueue, if every queue requests all resources
`kueue` gets 32 GPUs of the 32 GPUs in the cluster
  32 GPUs guaranteed
`research` gets 23 GPUs of the 32 GPUs in `kueue`
  20 GPUs guaranteed
  3 GPUs in surplus round 1: weight 1 of 3, 8 GPUs to divide
  20 + 3 = 23
`vision` gets 9 GPUs of the 23 GPUs in `research`
  4 GPUs guaranteed
  5 GPUs in surplus round 1: weight 3 of 4, 7 GPUs to divide
  4 + 5 = 9
`speech` gets 5 GPUs more than `vision`: 12 versus 4 guaranteed, 2 versus 5 of
  the surplus (weight 1 versus 3, `speech` is at its limit).
Shares on Kueue are shares of quota, assuming single-GPU workloads and
ClusterQueues that reclaim their nominal quota from any other queue; nodes are
ignored.
"""
    )


def test_volcano_shows_what_a_queue_can_use(explained: Run) -> None:
    told = explained("speech", "volcano").out
    assert (
        told[told.index("GPUs that it can use on") :]
        == """\
GPUs that it can use on prod/volcano, if every queue requests all resources
`research` can use 28 GPUs of the 32 GPUs in the cluster
  20 GPUs guaranteed
  8 GPUs that no other queue can reclaim
  20 + 8 = 28
`speech` can use 14 GPUs of the 28 GPUs in `research`
  12 GPUs guaranteed
  2 GPUs that no other queue can reclaim
  12 + 2 = 14
  gets no more: its limit is 14 GPUs
`vision` can use 2 GPUs more than `speech`: 4 versus 12 guaranteed, 12 versus 2
  that no other queue can reclaim.
Volcano's capacity plugin reserves `deserved` and does not divide the remaining
capacity: a share is the maximum that a queue can use while all other queues use
everything that they can reclaim.
"""
    )


@pytest.mark.parametrize("queue", ["vision", "research"])
def test_engine_without_division_states_its_rule(explained: Run, queue: str) -> None:
    shown = explained(queue, "native")
    assert shown.code == 0
    assert "Kubernetes has no fair sharing: a ResourceQuota only limits a namespace" in _share(shown.out)


def test_parent_queue_lists_its_children(explained: Run) -> None:
    shown = explained("research", "kai")
    assert shown.code == 0
    assert _share(shown.out).splitlines()[1:] == [
        "`research` divides its share among its children: `speech`, `vision`."
    ]


@pytest.mark.parametrize(
    ("peer", "says"),
    [
        ("speec", "queue speec does not exist; did you mean speech?"),
        ("serving", "serving is not a sibling of vision; siblings of vision: speech"),
    ],
)
def test_peer_that_is_not_sibling_is_rejected(explained: Run, peer: str, says: str) -> None:
    refused = explained("vision", "kai", "--peer", peer)
    assert refused.code == 2
    assert says in " ".join(refused.err.split())
    assert refused.out == ""


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("guaranteed: {gpu: 20}", "guaranteed: {gpu: 10}", "Fair shares are not computed: the policy has errors."),
        (
            ", pools: [gpus]",
            "",
            "Fair shares are not computed: the cluster's node pools do not declare how many GPUs they have.",
        ),
    ],
)
def test_reason_for_missing_share_is_reported(
    explained: Run, tmp_path: Path, before: str, after: str, says: str
) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.replace(before, after))
    assert says in " ".join(_share(explained("vision", "kai").out).split())


def test_peer_without_environment_is_rejected(run: Run) -> None:
    refused = run("explain", "queue", "vision", "--peer", "speech")
    assert refused.code == 2
    assert "--peer requires --env and a queue in a policy" in " ".join(refused.err.split())


@pytest.mark.parametrize(("text", "says"), [(None, "contains none of"), ("x = 1", "declares no Policy")])
def test_unknown_subject_without_a_policy_is_no_rule(run: Run, tmp_path: Path, text: str | None, says: str) -> None:
    """The fault of the policy is reported as well."""
    if text is not None:
        (tmp_path / "policy.py").write_text(text)
    refused = run("explain", "slotty", "-p", str(tmp_path))
    assert refused.code == 3
    said = " ".join((refused.out + refused.err).split())
    assert says in said
    assert "slotty is not a rule, so it was looked up as a queue; specify a rule" in said


def test_json_has_the_divisions_on_the_path(explained: Run) -> None:
    found = json.loads(explained("vision", "kai", "-o", "json").out)["fairShare"]
    (share,) = found["divisions"]
    assert [(each["parent"], each["total"]) for each in share["divisions"]] == [(None, 32.0), ("research", 23.0)]
    assert share["comparison"].startswith("`speech` gets 5 GPUs more than `vision`")
    assert found["notes"] == []


def test_department_with_limited_queues_returns_unused_share(explained: Run, tmp_path: Path) -> None:
    limited = POLICY.replace("guaranteed: {gpu: 4}, over_quota_weight: 3", "guaranteed: {gpu: 4}, limit: {gpu: 7}")
    (tmp_path / "policy.yaml").write_text(limited)
    assert (
        _share(explained("vision", "koordinator").out)
        == """\
fair share on prod/koordinator, if every queue requests all resources
`research` gets 21 GPUs of the 32 GPUs in the cluster
  20 GPUs guaranteed
  3 GPUs in surplus round 1: weight 1 of 3, 8 GPUs to divide
  2 GPUs returned, because the queue cannot use any more
  20 + 3 - 2 = 21
  gets no more: it requests 21 GPUs, capped by the limits of its children
`vision` gets 7 GPUs of the 21 GPUs in `research`
  4 GPUs guaranteed
  2 GPUs in surplus round 1: weight 1 of 2, 5 GPUs to divide
  1 GPU in surplus round 2: weight 1 of 1, 1 GPU to divide
  4 + 2 + 1 = 7
  gets no more: its limit is 7 GPUs
`speech` gets 7 GPUs more than `vision`: 12 versus 4 guaranteed, 2 versus 3 of
  the surplus (`speech` is at its limit, `vision` is at its limit).
"""
    )


def test_queue_as_written_has_a_hint_in_place_of_the_share(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        POLICY + "- {name: dev, clusters: [{name: lab, engine: kai, engine_version: '0.17.0'}]}\n"
    )
    told = run("explain", "queue", "vision", "-p", "policy.yaml")
    assert (told.code, told.err) == (0, "")
    assert HEADING not in told.out
    assert told.out.endswith(
        "\n\nThe queue's fair share depends on the cluster: add `--env prod --cluster kai`\n(or dev) to see how it is computed.\n"
    )
    assert "depends on the cluster" not in run("explain", "queue", "vision", "-p", "policy.yaml", "--json").out


def test_policy_without_clusters_has_no_share_to_hint_at(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY[: POLICY.index("environments:")])
    assert "fair share" not in run("explain", "queue", "vision", "-p", "policy.yaml").out
