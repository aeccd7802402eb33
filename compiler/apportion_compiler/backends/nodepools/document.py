"""A resource of a cloud provider, as plain data and as a file.

The type is Pulumi's, and the arguments are spelled as in Pulumi's Python libraries: a stack passes them on unchanged.
`supply` lists values that no policy contains, such as a cluster's id or a subnet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.generated import GENERATED
from apportion_policy.evaluation.sanitized_text import comment_lines

Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Document:
    """A resource to declare.

    Attributes:
        folder: The provider's folder in the rendered tree.
        name: The name of the resource and the file.
        type: Pulumi's type token.
        args: Its arguments, plain data.
        ignore_changes: Arguments that the provider changes after creation.
        supply: Arguments that the operator must add, because the policy does not contain them.
        notes: Notes for the operator, one sentence each.
    """

    folder: str
    name: str
    type: str
    args: Arguments
    ignore_changes: tuple[str, ...] = ()
    supply: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def artifact(document: Document) -> Artifact:
    """Return the document's file."""
    body: dict[str, object] = {"type": document.type, "name": document.name, "args": document.args}
    if document.ignore_changes:
        body["options"] = {"ignore_changes": list(document.ignore_changes)}
    if document.supply:
        body["supply"] = list(document.supply)
    header = comment_lines((*document.notes, GENERATED))
    content = header + yaml.safe_dump(body, sort_keys=False, width=120, allow_unicode=True)
    return Artifact(f"{document.folder}/{document.name}.yaml", content)
