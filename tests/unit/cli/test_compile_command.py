"""`apportion compile`: trees on disk, changes, pruned objects, and exit codes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from apportion_cli.commands.compile import TARGETS
from apportion_cli.demo_tables import clusters_text, fidelity_text
from apportion_compiler.backends import EMITTERS

from .conftest import Result, Run

_POLICY = """
from apportion_policy import Accelerator, Cluster, Engine, Environment, GPU_TAINT, NodePool, Organisation, Policy, Queue, Resources

GPUS = NodePool(id="gpus", cpu=96, memory="1Ti", accelerator=Accelerator(model="h100", count=8), max_nodes=3, taints=(GPU_TAINT,))
ORDINARY = NodePool(id="ordinary", cpu=30, memory="120Gi", max_nodes=3)
policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu=16)),
        Queue(id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(gpu=8)),
        Queue(id="nlp", parent="research", namespaces=("nlp",), guaranteed=Resources(gpu=%s)),
    ),
    node_pools=(GPUS, ORDINARY),
    environments=tuple(
        Environment(name=name, clusters=(Cluster(name="main", engine=Engine.KAI, engine_version="0.17.0", pools=(GPUS, ORDINARY)),))
        for name in ("dev", "prod")
    ),
)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "policy.py").write_text(_POLICY % 8)
    return tmp_path


def test_each_target_has_its_own_tree(run: Run, project: Path) -> None:
    shown = run("compile")
    assert shown.code == 0, shown.err
    trees = sorted(path.parent.relative_to(project).as_posix() for path in project.rglob("inventory.json"))
    assert trees == [f"rendered/{e}/main/{t}" for e in ("dev", "prod") for t in ("kai", "native")]
    assert "rendered/prod/main/kai" in shown.out


def test_inventory_matches_the_files(run: Run, project: Path) -> None:
    run("compile", "--env", "prod", "--target", "kai")
    tree = project / "rendered/prod/main/kai"
    inventory = json.loads((tree / "inventory.json").read_bytes())
    for entry in inventory["objects"]:
        names = [d["metadata"]["name"] for d in yaml.safe_load_all((tree / entry["file"]).read_bytes())]
        assert entry["name"] in names
    assert [o["name"] for o in inventory["objects"] if o["kind"] == "Queue"] == ["research", "nlp", "vision"]


def test_check_detects_changes(run: Run, project: Path) -> None:
    assert run("compile", "--check").code == 10
    assert not (project / "rendered").exists()
    run("compile")
    assert run("compile", "--check").code == 0
    (project / "policy.py").write_text(_POLICY % 7)
    changed = run("compile", "--check")
    assert changed.code == 10
    assert "would be changed" in changed.out


def test_deleted_team_is_listed_for_pruning(run: Run, project: Path) -> None:
    run("compile")
    text = (_POLICY % 8).replace(
        '        Queue(id="nlp", parent="research", namespaces=("nlp",), guaranteed=Resources(gpu=8)),\n', ""
    )
    (project / "policy.py").write_text(text)
    shown = run("compile", "--env", "prod", "--target", "kai")
    assert shown.out.startswith("to delete from the cluster (prune.json):\n  prod/main/kai: Queue nlp\n")
    pruned = json.loads((project / "rendered/prod/main/kai/prune.json").read_bytes())["objects"]
    assert pruned == [{"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "name": "nlp"}]


def _without_nlp(project: Path) -> None:
    team = '        Queue(id="nlp", parent="research", namespaces=("nlp",), guaranteed=Resources(gpu=8)),\n'
    (project / "policy.py").write_text((_POLICY % 8).replace(team, ""))


def _prune_list(project: Path) -> Path:
    return project / "rendered/prod/main/kai/prune.json"


def _checked(run: Run) -> Result:
    return run("compile", "--check", "--base", "base")


def test_base_revision_verifies_the_prune_list(run: Run, project: Path) -> None:
    run("compile")
    shutil.copytree(project / "rendered", project / "base")
    assert _checked(run).code == 0
    _without_nlp(project)
    run("compile")
    assert _checked(run).code == 0
    # Anyone can forge a prune list and its digest; the base revision never had the object.
    forged = json.loads(_prune_list(project).read_bytes())
    forged["objects"].append({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "name": "research-of-others"})
    _prune_list(project).write_text(json.dumps(forged))
    run("compile")
    assert run("compile", "--check").code == 0
    refused = _checked(run)
    assert refused.code == 10
    assert "  differs: prune.json, inventory.json\n" in refused.out


def test_object_removed_since_the_base_is_listed(run: Run, project: Path) -> None:
    run("compile")
    shutil.copytree(project / "rendered", project / "base")
    _without_nlp(project)
    run("compile")
    _prune_list(project).unlink()
    run("compile")
    assert json.loads(_prune_list(project).read_bytes())["objects"] == []
    assert _checked(run).code == 10


def test_deleted_objects_can_leave_the_prune_list(run: Run, project: Path) -> None:
    run("compile")
    _without_nlp(project)
    run("compile")
    shutil.copytree(project / "rendered", project / "base")
    _prune_list(project).unlink()
    run("compile")
    assert _checked(run).code == 0


def test_base_revision_without_a_tree_is_empty(run: Run, project: Path) -> None:
    run("compile")
    assert _checked(run).code == 0
    _without_nlp(project)
    run("compile")
    assert _checked(run).code == 10


def test_policy_with_errors_writes_nothing(run: Run, project: Path) -> None:
    (project / "policy.py").write_text(_POLICY % 9)
    refused = run("compile")
    assert refused.code == 1
    assert "AP201" in refused.err
    assert not (project / "rendered").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--env", "pord"], "environment pord does not exist; did you mean prod?"),
        (["--target", "kia"], "target kia does not exist; did you mean kai?"),
    ],
)
def test_misspelt_arguments_are_usage_errors(run: Run, project: Path, arguments: list[str], says: str) -> None:
    refused = run("compile", *arguments)
    assert refused.code == 2
    assert says in refused.err


def test_broken_inventory_is_one_sentence(run: Run, project: Path) -> None:
    run("compile", "--env", "prod")
    (project / "rendered/prod/main/kai/inventory.json").write_text("{")
    refused = run("compile", "--env", "prod")
    assert refused.code == 3
    assert "rendered/prod/main/kai/inventory.json is not JSON" in refused.err
    assert "Traceback" not in refused.err


def test_json_report_has_every_target(run: Run, project: Path) -> None:
    document = json.loads(run("compile", "-o", "json").out)
    assert (document["apiVersion"], document["kind"]) == ("apportion.dev/v1", "CompileReport")
    assert [(t["environment"], t["target"]) for t in document["targets"]] == [
        (e, t) for e in ("dev", "prod") for t in ("kai", "native")
    ]


def test_summary_counts_features_by_cluster(run: Run, project: Path) -> None:
    _, _, summary = run("compile").out.rpartition("\n\n")
    assert re.search(r"; (\d+) of \d+ features exact on 2 clusters; \d+ of these features only if:\n", summary)
    assert "  rendered/prod/main/kai/values.yaml is merged into KAI's Helm values\n" in summary
    assert " features exact on 1 cluster; " in run("compile", "--env", "prod").out


def test_help_names_every_target() -> None:
    assert set(TARGETS) == EMITTERS.keys()


def test_demo_reads_json_report(run: Run, project: Path) -> None:
    report = run("compile", "--env", "prod", "-o", "json").out
    assert clusters_text(report).startswith("prod/main  kai: ")
    head, *rows = (line.split() for line in fidelity_text(report).splitlines())
    assert head == ["kai"]
    assert ["guaranteed", "exact"] in rows
    assert ["namespaces", "exact*"] in rows


def test_waived_refusals_are_shown_only_if_verbose(run: Run, project: Path) -> None:
    waived = (_POLICY % 8).replace("Engine.KAI", "Engine.NATIVE").replace("0.17.0", "1.34")
    waived = waived.replace("    environments=tuple", "    waivers=WAIVERS,\n    environments=tuple")
    waivers = ", ".join(
        f"Waiver(code='AP506', address='queue {queue}', reason='small', owner='@a/b', expires='2099-01-01')"
        for queue in ("vision", "nlp")
    )
    (project / "policy.py").write_text(f"from apportion_policy import Waiver\nWAIVERS = ({waivers})\n{waived}")
    shown = run("compile", "--fail-on", "warning")
    assert (shown.code, shown.err) == (0, "4 waived in 3 queues, 2 environments\n")
    verbose = run("compile", "--fail-on", "warning", "--verbose")
    assert "waived until 2099-01-01 by @a/b: small" in verbose.err
    assert "in queue nlp on dev/main and prod/main" in verbose.err


def test_strict_fidelity_fails_on_an_approximation(run: Run, project: Path) -> None:
    assert run("compile", "--target", "kai", "--strict-fidelity").code == 0
    approximated = (_POLICY % 4).replace("max_nodes=3, taints", "max_nodes=3, placement=PLACEMENT, taints")
    approximated = approximated.replace(
        "GPUS = Node", "from apportion_policy import SPREAD, Placement\nPLACEMENT = Placement(gpu=SPREAD)\nGPUS = Node"
    )
    (project / "policy.py").write_text(approximated)
    refused = run("compile", "--target", "kai", "--strict-fidelity")
    assert refused.code == 1
    assert (
        "--strict-fidelity: nothing was written; targets that only approximate the policy: pool-placement"
        in refused.err
    )
    assert run("compile", "--target", "kai", "--check").code == 10
