"""A Dockerfile's steps run without Docker: each stage is a directory, and `RUN` uses this machine's Python.

What is not reproduced: the base image, and the isolation of a container. Absolute paths are taken below the directory.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

_ABSOLUTE = re.compile(r"(?<![\w./-])/(?=\w)")


@dataclass(slots=True)
class Image:
    """The state of a build: the file system of the current stage, and the settings of its processes."""

    root: Path
    workdir: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    exposed: frozenset[int] = frozenset()

    def placed(self, text: str) -> str:
        """Return a text with its absolute paths below the directory of the stage."""
        return _ABSOLUTE.sub(f"{self.root}/", text)

    def path(self, name: str) -> Path:
        """Return a path of the image."""
        return self.root / (Path(self.workdir) / name).as_posix().lstrip("/")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile with their arguments."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            yield name, arguments.strip()


def build(context: Path, folder: Path, environment: Mapping[str, str], arguments: Mapping[str, str]) -> Image:
    """Carry out the steps of a directory's Dockerfile, and return the image of its last stage.

    Args:
        context: The directory with the Dockerfile and its .dockerignore.
        folder: An empty directory for the stages.
        environment: The environment of the base image.
        arguments: The build arguments.

    Raises:
        CalledProcessError: If a command fails.
        ValueError: If an instruction is not supported.
    """
    root, stages, values = folder / "root", dict[str, Path](), dict[str, str]()
    image, name = Image(root), ""
    for instruction, rest in instructions((context / "Dockerfile").read_text()):
        match instruction:
            case "ARG":
                key, _, default = rest.partition("=")
                values[key] = arguments.get(key, default)
            case "FROM":
                if root.exists():
                    # Scripts have absolute paths, so each stage is built in the same place.
                    stages[name] = root.rename(folder / f"stage-{name}")
                name = rest.rpartition(" AS ")[2]
                image = Image(root, environment=dict(environment))
                root.mkdir()
            case "WORKDIR":
                image.workdir = rest
                image.path("").mkdir(parents=True)
            case "RUN":
                command = image.placed(rest)
                subprocess.run(command, shell=True, check=True, cwd=image.path(""), env={**image.environment, **values})
            case "COPY":
                _copy(image, context, stages, rest)
            case "ENV":
                for pair in rest.split():
                    key, _, value = pair.partition("=")
                    image.environment[key] = Template(image.placed(value)).substitute(image.environment)
            case "USER":
                image.user = rest
            case "EXPOSE":
                image.exposed |= {int(rest)}
            case "ENTRYPOINT":
                image.entrypoint = tuple(json.loads(rest))
            case "CMD":
                image.command = tuple(json.loads(rest))
            case other:
                raise ValueError(f"{other} is not supported")
    return image


def _copy(image: Image, context: Path, stages: Mapping[str, Path], rest: str) -> None:
    *sources, target = rest.split()
    base, kept = context, _kept(context)
    if sources[0].startswith("--from="):
        base, kept = stages[sources.pop(0).removeprefix("--from=")], None
    for source in sources:
        if kept is not None and source not in kept:
            raise FileNotFoundError(f".dockerignore excludes {source}")
        place = image.path(target) / (Path(source).name if target.endswith("/") else "")
        place.parent.mkdir(parents=True, exist_ok=True)
        from_ = base / source.lstrip("/")
        if from_.is_dir():
            shutil.copytree(from_, place, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(from_, place)


def _kept(context: Path) -> frozenset[str]:
    lines = (context / ".dockerignore").read_text().splitlines()
    return frozenset(line.removeprefix("!") for line in lines if line.startswith("!"))
