"""The action and the component of this repository, whose steps are those of the pipelines that `init` writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_cli.scaffold import published_files, scaffold_files

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", published_files())
def test_published_pipeline_is_up_to_date(name: str, update_golden: bool) -> None:
    text = published_files()[name]
    if update_golden:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
    assert (ROOT / name).read_text(encoding="utf-8") == text


def _steps(document: Any, job: str) -> dict[str, str]:
    return {step["name"]: step["run"] for step in document["jobs"][job]["steps"] if "run" in step}


def test_action_runs_the_steps_of_the_workflow() -> None:
    written = scaffold_files("acme", "1.0.0")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    own = {step["name"]: step["run"] for step in action["runs"]["steps"] if "run" in step}
    review, comment = (
        yaml.safe_load(written[f".github/workflows/apportion-{name}.yml"]) for name in ("review", "review-comment")
    )
    theirs = _steps(review, "review") | _steps(comment, "comment")
    assert own.keys() == theirs.keys() == {"Install", "Review", "Summarize", "Comment"}
    assert [own[name] for name in ("Summarize", "Comment")] == [theirs[name] for name in ("Summarize", "Comment")]
    assert _body(own["Review"]) == _body(theirs["Review"])
    assert own["Install"].replace('"$LOCK"', "base/ci/requirements.txt") == theirs["Install"]
    # What a caller gives is data of a script, never a part of it.
    assert not [name for name, script in own.items() if "${{" in script]
    pinned = re.compile(r"^[\w-]+/[\w/-]+@[0-9a-f]{40}$")
    assert all(pinned.match(step["uses"]) for step in action["runs"]["steps"] if "uses" in step)
    assert all(step["shell"] == "bash" for step in action["runs"]["steps"] if "run" in step)


def test_component_runs_the_jobs_of_the_pipeline() -> None:
    pipeline = yaml.safe_load(scaffold_files("acme", "1.0.0", service="gitlab")[".gitlab-ci.yml"])
    specification, component = yaml.safe_load_all((ROOT / "templates/review/template.yml").read_text(encoding="utf-8"))
    assert set(component) == {"review", "review-note"}
    assert component["review-note"]["script"] == pipeline["review-note"]["script"]
    assert component["review"]["script"][-1] == pipeline["review"]["script"][-1]
    install = [line.replace("$REVIEW_LOCK", "ci/requirements.txt") for line in component["review"]["before_script"]]
    assert install == pipeline[".install"]["before_script"]
    for name in ("rules", "needs", "artifacts"):
        assert component["review"][name] == pipeline["review"][name]
    assert component["review-note"]["rules"] == pipeline["review-note"]["rules"]
    used = set(re.findall(r"inputs\.(\w+)", str(component)))
    assert used == set(specification["spec"]["inputs"])
    assert not [line for job in component.values() for line in job["script"] if "inputs." in line]


def _body(script: str) -> str:
    return script[script.index("# Runs in the directory of the base branch") :]
