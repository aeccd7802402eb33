"""The files that `apportion init` writes: a policy that compiles at once, with continuous integration and pre-commit."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

_TEMPLATES = (
    "policy.py",
    "departments.py",
    "pools.py",
    "environments.py",
    "teams/vision.py",
    "teams/language.py",
    ".pre-commit-config.yaml",
    ".github/workflows/apportion.yml",
    ".gitattributes",
    "README.md",
)
_PULUMI = (
    "Pulumi.yaml",
    "stacks/__main__.py",
    "stacks/Pulumi.dev.yaml",
    "stacks/Pulumi.prod.yaml",
    "stacks/policy-pack/PulumiPolicy.yaml",
    "stacks/policy-pack/__main__.py",
    ".gitignore",
)


def scaffold_files(organisation: str, version: str, *, with_pulumi: bool = False) -> Mapping[str, str]:
    """Return the scaffold as relative path to text; with Pulumi's project and stacks where they are wanted."""
    folder = files("apportion_cli.scaffold")
    return {
        name: folder.joinpath(f"{name.lstrip('.').replace('/.', '/')}.tmpl")
        .read_text(encoding="utf-8")
        .replace("@ORGANISATION@", organisation)
        .replace("@VERSION@", version)
        for name in (*_TEMPLATES, *(_PULUMI if with_pulumi else ()))
    }
