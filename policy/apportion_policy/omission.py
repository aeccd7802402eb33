"""What an author wrote that is not part of the policy: a declaration that nothing holds, or a file that nothing reads.

`unused_declarations` finds the former where the policy is evaluated, `evaluation.unread_files` the latter outside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from apportion_policy.source import SourceLocation

FILE = "file"
FOLDER = "folder"
"""The policy's folder holds more than is searched; the omission's name is how much is."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A declaration or file that is not part of the policy.

    Attributes:
        kind: `file`, `folder`, or the kind of the declaration as findings name it.
        name: Of the file, or what identifies the declaration.
        source: Where it was written.
        shared: Whether the folder holds other policies too, of one of which it may be a part.
    """

    kind: str
    name: str
    source: SourceLocation
    shared: bool = False
