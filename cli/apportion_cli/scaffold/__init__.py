"""The files that `apportion init` writes: a policy that compiles, with continuous integration and pre-commit hooks."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

SERVICES = ("github", "gitlab")
"""Supported CI systems."""
_TEMPLATES = (
    "policy.py",
    "departments.py",
    "pools.py",
    "environments.py",
    "teams/vision.py",
    "teams/language.py",
    ".pre-commit-config.yaml",
    ".gitattributes",
    "CODEOWNERS",
    "README.md",
    "ci/requirements.in",
)
LOCK_COMMAND = "uv pip compile --universal --generate-hashes ci/requirements.in -o ci/requirements.txt"
"""Command that writes the lock file of the pipelines."""
_PULUMI = (
    "Pulumi.yaml",
    "stacks/__main__.py",
    "stacks/Pulumi.dev.yaml",
    "stacks/Pulumi.prod.yaml",
    "stacks/policy-pack/PulumiPolicy.yaml",
    "stacks/policy-pack/__main__.py",
    ".gitignore",
)
_WORKFLOWS = ".github/workflows/apportion"
_PIPELINE = ".gitlab-ci.yml"


def scaffold_files(
    organisation: str, version: str, *, with_pulumi: bool = False, service: str = "github"
) -> Mapping[str, str]:
    """Return the scaffold as text by relative path; optionally with Pulumi's project and stacks."""
    values = {
        "organisation": organisation,
        "version": version,
        "requirement": "apportion[pulumi]" if with_pulumi else "apportion",
        "stages": "check, review, up, overrides" if with_pulumi else "check, review, overrides",
        "with_pulumi": with_pulumi,
    }
    parts: dict[str, tuple[str, ...]] = {name: (name,) for name in (*_TEMPLATES, *(_PULUMI if with_pulumi else ()))}
    parts |= _github(with_pulumi=with_pulumi) if service == "github" else _gitlab(with_pulumi=with_pulumi)
    environment = _environment()
    return {
        file: "".join(environment.from_string(_template(name)).render(values) for name in names)
        for file, names in parts.items()
    }


def published_files() -> Mapping[str, str]:
    """Return the GitHub action and the GitLab component of Apportion's own repository as text by path."""
    environment = _environment()
    names = ("action.yml", "templates/review/template.yml")
    return {name: environment.from_string(_template(name)).render() for name in names}


def _github(*, with_pulumi: bool) -> Mapping[str, tuple[str, ...]]:
    kinds = ("", "-review", "-review-comment", *(("-preview", "-deploy") if with_pulumi else ()), "-overrides")
    return {f"{_WORKFLOWS}{kind}.yml": (f"{_WORKFLOWS}{kind}.yml",) for kind in kinds}


def _gitlab(*, with_pulumi: bool) -> Mapping[str, tuple[str, ...]]:
    # A GitLab pipeline is one file, and rules that reference a missing job would make it invalid.
    return {
        _PIPELINE: (
            "gitlab-ci.yml",
            "gitlab-ci-review.yml",
            *(("gitlab-ci-deploy.yml",) if with_pulumi else ()),
            "gitlab-ci-overrides.yml",
        )
    }


def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined

    # The default delimiters are those of expressions in GitHub workflows.
    environment = Environment(
        variable_start_string="@{",
        variable_end_string="}@",
        block_start_string="@%",
        block_end_string="%@",
        comment_start_string="@#",
        comment_end_string="#@",
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.globals.update({"part": _part})
    environment.filters["program"] = _program
    return environment


def _part(name: str) -> str:
    """Return the lines that several pipelines share."""
    return files("apportion_cli.scaffold").joinpath(name).read_text(encoding="utf-8").rstrip("\n")


def _program(source: str) -> str:
    """Return the command that runs a Python program without the current directory, user variables or user packages."""
    return f"python3 -I -X utf8 - <<'PYTHON'\n{source}\nPYTHON"


def _template(name: str) -> str:
    path = f"{name.lstrip('.').replace('/.', '/')}.tmpl"
    return files("apportion_cli.scaffold").joinpath(path).read_text(encoding="utf-8")
