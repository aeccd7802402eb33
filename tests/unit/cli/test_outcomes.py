"""The pytest plugin, and the messages of its failed assertions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from apportion_cli.outcomes import Outcome, OutcomeError
from apportion_runtime.sim.report.report import build_report

from ..runtime.sim.histories import crowded

pytest_plugins = ["pytester"]

QUEUE = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: {name}}}
spec:
  {parent}resources:
    cpu: {{quota: -1, limit: -1, overQuotaWeight: 1}}
    memory: {{quota: -1, limit: -1, overQuotaWeight: 1}}
    gpu: {{quota: {quota}, limit: -1, overQuotaWeight: 1}}
"""
TREE = "---\n".join(
    [
        QUEUE.format(name="research", parent="", quota=4),
        QUEUE.format(name="nlp", parent="parentQueue: research\n  ", quota=2),
        QUEUE.format(name="vision", parent="parentQueue: research\n  ", quota=2),
    ]
)
SCENARIO = """\
nodes: [{pool: gpu, count: 1, gpus: 4, cpu: 64, memory: 256Gi}]
workloads:
  - {name: borrower, kind: PyTorchJob, queue: nlp, priority: train, pods: 4, gpus: 1, duration: 2h, checkpoint: 30m}
  - {name: owner, kind: Job, queue: vision, priority: train, at: 1h, pods: 2, gpus: 1, duration: 1h}
  - {name: small, kind: Job, queue: vision, priority: train, at: 3h40m, gpus: 1, duration: 10m}
"""
Simulate = Callable[..., Outcome]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("outcomes")
    (made / "queues.yaml").write_text(TREE)
    (made / "load.yaml").write_text(SCENARIO)
    return made


@pytest.fixture
def outcome(apportion_simulate: Simulate, folder: Path) -> Outcome:
    return apportion_simulate(folder / "queues.yaml", folder / "load.yaml")


def test_satisfied_assertions_pass(outcome: Outcome) -> None:
    outcome.assert_waits("vision", at_most="1m")
    outcome.assert_waits("research", at_most=60, gpus=2)
    outcome.assert_waits("research", at_most="1m", percentile=66)
    outcome.assert_evictions("vision")
    outcome.assert_evictions("research", at_most=1, by="vision")
    outcome.assert_share("vision", at_least=0.5)
    outcome.assert_succeeds(within="4h")
    outcome.assert_lost("vision", at_most_gpu_hours=0)
    outcome.assert_utilisation(at_least=0.5)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            lambda o: o.assert_waits("research", at_most="30m"),
            "queue research: 1 of 3 workloads waited longer than 30m\n  borrower (nlp), which arrived at 00:00:00: 1h for 4 GPUs",
        ),
        (
            lambda o: o.assert_waits("nlp", at_most="1h", gpus=2),
            "no workload in queue nlp that requests at most 2 GPUs",
        ),
        (lambda o: o.assert_evictions(), "1 eviction, expected at most 0: nlp was evicted once by vision"),
        (lambda o: o.assert_share("vision", at_least=1.5), "of its fair share, expected at least 150%"),
        (lambda o: o.assert_succeeds("nlp", within="2h"), "queue nlp: 1 of 1 workload did not succeed within 2h"),
        (lambda o: o.assert_lost(at_most_gpu_hours=0.5), "GPU-hours lost, expected at most 0.5"),
        (lambda o: o.assert_utilisation(at_least=0.99), "expected at least 99%"),
    ],
)
def test_failed_assertions_name_the_workloads(outcome: Outcome, broken: Callable[[Outcome], None], said: str) -> None:
    with pytest.raises(AssertionError) as refused:
        broken(outcome)
    assert said in str(refused.value)


def test_unknown_queue_gets_a_suggestion(outcome: Outcome) -> None:
    with pytest.raises(OutcomeError, match="queue visoin does not exist; did you mean vision"):
        outcome.assert_waits("visoin", at_most="1m")
    with pytest.raises(OutcomeError, match="workload bigger does not exist"):
        outcome.workload("bigger")
    with pytest.raises(ValueError, match="is not a duration such as 90s"):
        outcome.assert_waits("vision", at_most="soon")


def test_many_long_waits_are_summarised() -> None:
    history = crowded(300, 20)
    outcome = Outcome(build_report(history, "", 0.0), history)
    with pytest.raises(AssertionError) as refused:
        outcome.assert_waits(at_most="1h")
    first, *named = str(refused.value).splitlines()
    longest = [
        max(((history.ended_s if e is None else e) - s for s, e in w.waits), default=0)
        for w in outcome.report.workloads
    ]
    late = [wait for wait in longest if wait > 3600]
    assert first == f"{len(late)} of 300 workloads waited longer than 1h"
    assert len(named) == 6
    assert named[-1] == f"  … and {len(late) - 5} more"
    outcome.assert_waits(at_most="1h", percentile=100 * (300 - len(late)) / 300)


def test_fixture_simulates_once_per_session(pytester: pytest.Pytester, folder: Path) -> None:
    for name in ("queues.yaml", "load.yaml"):
        (pytester.path / name).write_text((folder / name).read_text())
    pytester.makepyfile(
        """
        import pytest

        def test_kept(apportion_simulate):
            outcome = apportion_simulate("queues.yaml", "load.yaml")
            outcome.assert_waits("vision", at_most="1m", gpus=8)
            assert apportion_simulate("queues.yaml", "load.yaml") is outcome

        def test_broken(apportion_simulate):
            apportion_simulate("queues.yaml", "load.yaml").assert_evictions("nlp")

        def test_impossible(apportion_simulate):
            from apportion_cli.outcomes import OutcomeError
            with pytest.raises(OutcomeError, match="nowhere.yaml cannot be read"):
                apportion_simulate("queues.yaml", "nowhere.yaml")
        """
    )
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: 1 eviction, expected at most 0: nlp was evicted once by vision"])
    assert "outcomes.py" not in result.stdout.str().replace("test_pytest", ""), "the failure stands at the test's line"


def test_policy_findings_are_reported(apportion_simulate: Simulate, tmp_path: Path, folder: Path) -> None:
    (tmp_path / "policy.py").write_text("from apportion_policy import Policy\npolicy = Policy(organisation=1)\n")
    with pytest.raises(OutcomeError, match="has findings, listed on standard error"):
        apportion_simulate(tmp_path / "policy.py", folder / "load.yaml")


def test_base_branch_tests_apply_to_a_changed_policy(pytester: pytest.Pytester, folder: Path) -> None:
    """The tests of the base branch judge a changed policy, and no file of its folder runs in pytest."""
    for name in ("base", "head"):
        pytester.mkdir(name)
        Path(name, "queues.yaml").write_text(TREE.replace("quota: 2", "quota: 4") if name == "head" else TREE)
    tests = pytester.mkdir("base/tests")
    (tests / "load.yaml").write_text(SCENARIO)
    (tests / "test_promises.py").write_text(
        "def test_kept(apportion_simulate):\n"
        "    outcome = apportion_simulate('../queues.yaml', 'load.yaml')\n"
        "    outcome.assert_evictions('nlp', at_most=0)\n"
    )
    for hostile in ("head/conftest.py", "head/tests/conftest.py", "head/tests/test_promises.py", "head/__init__.py"):
        Path(hostile).parent.mkdir(exist_ok=True)
        Path(hostile).write_text("raise SystemExit('ran')\n")
    arguments = ("-q", "-p", "no:cacheprovider", "--rootdir", ".", "tests")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("base")
        pytester.runpytest_subprocess(*arguments).assert_outcomes(failed=1)
        pytester.runpytest_subprocess(*arguments, "--apportion-policies", "../head").assert_outcomes(passed=1)
        (tests / "test_promises.py").write_text(
            "def test_elsewhere(apportion_simulate):\n    apportion_simulate('../../queues.yaml', 'load.yaml')\n"
        )
        refused = pytester.runpytest_subprocess(*arguments, "--apportion-policies", "../head")
    refused.stdout.fnmatch_lines(["*UsageError: --apportion-policies: the policy */queues.yaml is outside pytest's*"])
