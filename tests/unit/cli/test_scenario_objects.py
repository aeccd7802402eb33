"""The initial objects of a simulation and their engine: messages to the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

_EXAMPLE = Path(__file__).parents[3] / "examples/seed-004-ai-scheduling"
_QUEUE = """
apiVersion: {api}
kind: {kind}
metadata: {{name: one}}
spec: {{}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: ai}}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.yaml"
    file.write_text("nodes: [{pool: n}]\nworkloads: [{name: j, kind: Job, namespace: ai, duration: 1m}]\n")
    return file


def _objects(tmp_path: Path, *pairs: tuple[str, str]) -> Path:
    file = tmp_path / "objects.yaml"
    file.write_text("---".join(_QUEUE.format(api=api, kind=kind) for api, kind in pairs))
    return file


def test_ambiguous_cluster_must_be_named(run: Run, scenario: Path) -> None:
    result = run("simulate", _EXAMPLE, "--scenario", scenario)
    assert result.code == 2
    assert (
        "choose one with --env, --cluster or --engine: plain/kubernetes (native), batch/volcano (volcano)" in result.err
    )


@pytest.mark.parametrize("chosen", [("--engine", "native"), ("--env", "plain"), ("--cluster", "kubernetes")])
def test_cluster_is_selected_by_any_option(run: Run, scenario: Path, chosen: tuple[str, str]) -> None:
    result = run("simulate", _EXAMPLE, "--scenario", scenario, *chosen)
    assert result.code == 0, result.err
    assert "1 succeeded" in result.out


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (("--engine", "kueue"), "no cluster in the policy runs Kueue; choose one of native or volcano"),
        (("--cluster", "nowhere"), "the policy has no cluster nowhere"),
    ],
)
def test_unknown_cluster_is_refused(run: Run, scenario: Path, chosen: tuple[str, str], said: str) -> None:
    result = run("simulate", _EXAMPLE, "--scenario", scenario, *chosen)
    assert result.code == 3
    assert said in result.err


@pytest.mark.parametrize("chosen", [("--engine", "volcanoo"), ("--engine", "Volcano", "--cluster", "volcano")])
@pytest.mark.parametrize("rendered", [False, True])
def test_unknown_engine_lists_the_engines(
    run: Run, scenario: Path, tmp_path: Path, chosen: tuple[str, ...], rendered: bool
) -> None:
    source = _objects(tmp_path, ("scheduling.volcano.sh/v1beta1", "Queue")) if rendered else _EXAMPLE
    result = run("simulate", source, "--scenario", scenario, *(chosen[:2] if rendered else chosen))
    assert (result.code, result.err) == (
        3,
        (
            f"apportion: error: {chosen[1]} is not an engine that can be simulated; "
            "choose one of kai, ack, kueue, volcano, koordinator, yunikorn, native\n"
        ),
    )


def test_unknown_engine_of_the_other_policy_lists_the_engines(run: Run, scenario: Path) -> None:
    result = run(
        "simulate",
        _EXAMPLE,
        "--scenario",
        scenario,
        "--engine",
        "native",
        "--against",
        _EXAMPLE,
        "--against-engine",
        "k8s",
    )
    assert result.code == 3
    assert "k8s is not an engine that can be simulated; choose one of kai" in result.err


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("quota.koordinator.sh/v1alpha1", "ElasticQuotaProfile"),
        ("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota"),
    ],
)
def test_koordinator_without_its_configuration_is_refused(
    run: Run, scenario: Path, tmp_path: Path, api: str, kind: str
) -> None:
    result = run("simulate", _objects(tmp_path, (api, kind)), "--scenario", scenario)
    assert result.code == 3
    assert "ConfigMap koord-scheduler-config does not exist" in result.err


def test_objects_of_several_engines_are_refused(run: Run, scenario: Path, tmp_path: Path) -> None:
    mixed = _objects(tmp_path, ("scheduling.run.ai/v2", "Queue"), ("kueue.x-k8s.io/v1beta2", "ClusterQueue"))
    result = run("simulate", mixed, "--scenario", scenario)
    assert result.code == 3
    assert "the objects belong to KAI Scheduler and Kueue" in result.err
    assert "choose an engine with --engine kai or kueue" in result.err


def test_native_engine_refuses_objects_of_other_engines(run: Run, scenario: Path, tmp_path: Path) -> None:
    tree = _objects(tmp_path, ("scheduling.volcano.sh/v1beta1", "Queue"))
    result = run("simulate", tree, "--scenario", scenario, "--engine", "native")
    assert result.code == 3
    assert "the objects belong to Volcano, which plain Kubernetes ignores" in result.err


def test_engine_start_failure_is_explained(run: Run, scenario: Path, tmp_path: Path) -> None:
    tree = _objects(tmp_path, ("scheduling.volcano.sh/v1beta1", "Queue"))
    result = run("simulate", tree, "--scenario", scenario)
    assert result.code == 3
    assert "objects.yaml: ConfigMap volcano-scheduler-configmap does not exist" in result.err


_YUNIKORN = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: yunikorn-configs, namespace: yunikorn}}
data:
  queues.yaml: |
    partitions:
    - name: default
      queues:
      - name: root
        submitacl: "*"
        queues:
        - {{name: default, resources: {{guaranteed: {{vcore: 4}}, max: {{vcore: {maximum}}}}}}}
"""


@pytest.mark.parametrize("maximum", [2, 8])
def test_configuration_that_the_engine_rejects_is_refused(
    run: Run, scenario: Path, tmp_path: Path, maximum: int
) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(_YUNIKORN.format(maximum=maximum))
    result = run("simulate", file, "--scenario", scenario, "--engine", "yunikorn")
    if maximum == 8:
        assert result.code == 0, result.err
    else:
        assert result.code == 3
        assert 'YuniKorn rejects its configuration: data["queues.yaml"].partitions[0]' in result.err
        assert "guaranteed resource map[vcore:4000] is larger than maximum resource map[vcore:2000]" in result.err


_KOORDINATOR = """
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: team, namespace: koordinator-system}
spec: {min: {nvidia.com/gpu: 4}, max: {nvidia.com/gpu: 8}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: ml, namespace: koordinator-system, labels: {}, annotations: {}}
spec: {min: {nvidia.com/gpu: 4}, max: {nvidia.com/gpu: 8}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: koord-scheduler-config, namespace: koordinator-system}
data:
  koord-scheduler-config: |
    profiles:
    - schedulerName: koord-scheduler
      plugins:
        preFilter: {enabled: [{name: ElasticQuota}]}
        postFilter: {disabled: [{name: "*"}], enabled: [{name: ElasticQuota}]}
        permit: {enabled: [{name: Coscheduling}]}
"""
_LABEL = "quota.scheduling.koordinator.sh"


@pytest.mark.parametrize(
    ("old", "new", "code", "fault"),
    [
        ("name: ml", "name: ml", 0, ""),
        ("name: ml", "name: team", 3, "objects.yaml: ElasticQuota koordinator-system/team: Koordinator rejects metadata.name: AddQuota quota already exist:team"),
        ("name: ml, namespace: koordinator-system", "name: team, namespace: ml", 3, "AddQuota quota already exist:team"),
        ("min: {nvidia.com/gpu: 4}", "min: {nvidia.com/gpu: -4}", 0, "warning: ElasticQuota koordinator-system/team: Koordinator rejects spec.min: team quota.Spec.Min's value < 0"),
        ("min: ", "minn: ", 0, "Koordinator does not apply spec.minn: ElasticQuota has no field minn"),
        ("labels: {}", f'labels: {{{_LABEL}/is-parent: "yes"}}', 0, '"yes" is neither "true" nor "false"'),
        ("annotations: {}", f"annotations: {{{_LABEL}/namespaces: '[b'}}", 0, "the value is not a JSON array of names"),
        ("annotations: {}", f"annotations: {{{_LABEL}/shared-weight: heavy}}", 0, "the value is not JSON"),
    ],
    ids=["valid", "same object twice", "same name", "negative", "misspelt", "not a boolean", "namespaces", "weight"],
)  # fmt: skip
def test_quotas_that_koordinators_webhook_rejects_are_reported(
    run: Run, scenario: Path, tmp_path: Path, old: str, new: str, code: int, fault: str
) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(_KOORDINATOR.replace(old, new, 1))
    result = run("simulate", file, "--scenario", scenario, "--engine", "koordinator")
    assert result.code == code, result.err
    assert fault in result.err
    assert bool(fault) == ("ElasticQuota" in result.err)


def test_templates_in_a_tree_are_not_applied(run: Run, scenario: Path, tmp_path: Path) -> None:
    rendered = tmp_path / "rendered"
    assert run("compile", _EXAMPLE, "--env", "plain", "--out", rendered).code == 0
    assert list(rendered.rglob("templates/*.yaml"))
    result = run("simulate", rendered, "--scenario", scenario, "-o", "json")
    assert result.code == 0, result.err
    assert "nightly-training" not in result.out


def test_scenario_error_has_file_line_and_remedy(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text("nodes:\n  - {pool: n}\nworkloads:\n  - {name: j, duration: soon}\n")
    result = run("simulate", _EXAMPLE, "--engine", "native", "--scenario", file)
    assert result.code == 3
    assert result.err.splitlines()[0] == (
        f"apportion: error: {file}:4: workloads[0].duration: `soon` is not a duration such as 90s, 1h30m or 2d"
    )


def test_duplicate_key_of_a_named_file_has_its_line(run: Run, tmp_path: Path, scenario: Path) -> None:
    scenario.write_text("nodes: [{pool: n}]\nworkloads:\n- file: job.yaml\n  duration: 1m\n")
    (tmp_path / "job.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata:\n  name: j\n  name: k\n")
    result = run("simulate", _EXAMPLE, "--scenario", scenario, "--engine", "native")
    assert result.code == 3
    assert (
        "scenario.yaml:3: workloads[0].file: job.yaml cannot be read: line 5: metadata.name: set twice; remove this value "
        "or the one on line 4\n"
    ) in result.err


def test_unsupported_event_has_its_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text("nodes: [{pool: n}]\nevents:\n  - {at: 5m, job: {name: j}, jump: true}\n")
    result = run("simulate", _EXAMPLE, "--engine", "native", "--scenario", file)
    assert (
        result.err.splitlines()[0]
        == f"apportion: error: {file}:3: events[0]: plain Kubernetes does not support this event"
    )


def test_invalid_yaml_has_its_line(run: Run, tmp_path: Path, scenario: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text("apiVersion: v1\nkind: X\n  name: y\n")
    result = run("simulate", file, "--scenario", scenario)
    assert (result.code, result.err) == (
        3,
        f"apportion: error: {file}: line 3: invalid YAML: mapping values are not allowed in this context\n",
    )


def test_refusals_of_ten_workloads_are_explained(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    job = "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: two}}"
    file.write_text(f"nodes: [{{pool: n}}]\nworkloads:\n  - {{manifest: {job}, count: 12}}\n")
    result = run("simulate", _EXAMPLE, "--engine", "native", "--scenario", file)
    assert result.code == 0
    said = result.err.splitlines()
    assert said[0] == (
        "apportion: warning: Job default/j-0 was rejected: .spec.parallelism accessor error: two is not an integer"
    )
    assert said[10:] == ["apportion: warning: 2 more workloads were rejected; see -o jsonl for the reasons"]


def test_cluster_without_nodes_is_warned_about(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text("until: 1m\nworkloads: [{name: j}]\n")
    result = run("simulate", _EXAMPLE, "--engine", "native", "--scenario", file)
    assert result.err.splitlines() == [
        "apportion: warning: the cluster has no nodes, so nothing can run: list `nodes` in a scenario (--scenario FILE)"
    ]
