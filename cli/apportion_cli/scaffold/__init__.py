"""The files that `apportion init` writes: a policy that compiles at once, with continuous integration and pre-commit."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

SERVICES = ("github", "gitlab")
"""Those whose continuous integration is written."""
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
"""What writes the lock that the pipelines install from."""
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
_APPLYING = "  up:\n"
"""How the job of the overrides' workflow begins that needs stacks."""
_OF_STACKS = (
    (
        "is a pull request, or, where the repository's variable APPORTION_OVERRIDES is `apply`, goes to the clusters.",
        "is a pull request.",
    ),
    ("vars.APPORTION_OVERRIDES != 'apply' && ", ""),
)
"""What that workflow says of the job, and what it says instead."""


def scaffold_files(
    organisation: str, version: str, *, with_pulumi: bool = False, service: str = "github"
) -> Mapping[str, str]:
    """Return the scaffold as relative path to text; with Pulumi's project and stacks where they are wanted."""
    written = {name: _template(name) for name in (*_TEMPLATES, *(_PULUMI if with_pulumi else ()))}
    written |= _github(with_pulumi=with_pulumi) if service == "github" else _gitlab(with_pulumi=with_pulumi)
    values = {
        "@ORGANISATION@": organisation,
        "@VERSION@": version,
        "@REQUIREMENT@": "apportion[pulumi]" if with_pulumi else "apportion",
        "@STAGES@": "check, up, overrides" if with_pulumi else "check, overrides",
    }
    return {name: _filled(text, values) for name, text in written.items()}


def _github(*, with_pulumi: bool) -> Mapping[str, str]:
    overrides = _template(f"{_WORKFLOWS}-overrides.yml")
    found = {f"{_WORKFLOWS}.yml": _template(f"{_WORKFLOWS}.yml")}
    if with_pulumi:
        found |= {f"{_WORKFLOWS}-{name}.yml": _template(f"{_WORKFLOWS}-{name}.yml") for name in ("preview", "deploy")}
    else:
        overrides = overrides.partition(_APPLYING)[0]
        for with_stacks, without in _OF_STACKS:
            overrides = overrides.replace(with_stacks, without)
    return {**found, f"{_WORKFLOWS}-overrides.yml": overrides}


def _gitlab(*, with_pulumi: bool) -> Mapping[str, str]:
    # A pipeline is one file, and a job whose rules name what is not there would stop it.
    parts = ("gitlab-ci.yml", *(("gitlab-ci-deploy.yml",) if with_pulumi else ()), "gitlab-ci-overrides.yml")
    return {_PIPELINE: "".join(map(_template, parts))}


def _filled(text: str, values: Mapping[str, str]) -> str:
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def _template(name: str) -> str:
    path = f"{name.lstrip('.').replace('/.', '/')}.tmpl"
    return files("apportion_cli.scaffold").joinpath(path).read_text(encoding="utf-8")
