"""`apportion version`."""

from __future__ import annotations

import click

from apportion_cli.console import current
from apportion_cli.verbosity import console_options

DISTRIBUTION = "apportion"
PACKAGES = ("click", "jinja2", "networkx", "pydantic", "pyyaml", "rich")


def version_text() -> str:
    """Return the version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown (not installed as a distribution)"


@click.command()
@console_options
def version() -> None:
    """Print the version; with --verbose, also the versions of Python and the libraries."""
    console = current()
    console.out(f"{DISTRIBUTION} {version_text()}")
    if console.verbose:
        import platform
        from importlib import metadata

        console.out(f"python {platform.python_version()} ({platform.platform()})")
        for name in PACKAGES:
            console.out(f"{name} {metadata.version(name)}")
