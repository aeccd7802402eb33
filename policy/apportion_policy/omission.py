"""Omissions: declarations that are not part of the policy, and files that are not read.

`unused_declarations` finds the former during the evaluation, `evaluation.unread_files` the latter outside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from apportion_policy.source import SourceLocation

FILE = "file"
FOLDER = "folder"
"""The policy's folder exceeds the search limits; the omission's name describes them."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A declaration or file that is not part of the policy.

    Attributes:
        kind: `file`, `folder`, or the kind of the declaration in findings.
        name: Path of the file, or identity of the declaration.
        source: Its location.
        shared: Whether the folder also has other policies, to which it may belong.
    """

    kind: str
    name: str
    source: SourceLocation
    shared: bool = False
