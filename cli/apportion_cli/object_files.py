"""Files of Kubernetes objects, as read by `apportion simulate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apportion_cli.bounded_text import UnreadableFileError, text_of
from apportion_cli.errors import PreconditionError


def object_text(file: str) -> str:
    """Return the text of a file of objects. Raises `PreconditionError` if it cannot be read."""
    try:
        return text_of(file)
    except UnreadableFileError as wrong:
        raise PreconditionError(f"{file} cannot be read: {wrong}") from None
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from refused


def documents(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a text; a configuration file, which has no name, is named after its kind.

    Raises:
        ValueError: If it is neither JSON nor YAML.
    """
    from apportion_runtime.snapshots.document_loader import NotText, documents_of

    try:
        found = list(documents_of(text))
    except NotText as wrong:
        message = f"{wrong.message}; {wrong.hint}" if wrong.hint else wrong.message
        raise ValueError(f"line {wrong.line}: {message}" if wrong.line else message) from None
    for made in found:
        if not isinstance(made, dict) or not made.get("kind"):
            continue
        if str(made["kind"]).endswith("List") and isinstance(made.get("items"), list):
            yield from made["items"]
        elif isinstance(made.get("metadata"), dict):
            yield made
        elif made.get("apiVersion") and made["kind"] != "Kustomization":
            yield {**made, "metadata": {"name": str(made["kind"]).lower()}}
