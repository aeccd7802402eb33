"""A CODEOWNERS file from the owners in a policy, so that the code host requests reviews from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from apportion_policy.evaluation.sanitized_text import plain_text
from apportion_review.facts import ORGANISATION, QUEUE, Fact, Facts

BEGIN = "# BEGIN apportion: written by `apportion codeowners`; edit the owners in the policy instead."
END = "# END apportion"
_HANDLE = re.compile(r"@[\w.-]+(/[\w.-]+)*|[^@\s]+@[^@\s]+\.[^@\s]+")


def codeowners(facts: Facts, path_of: Callable[[str], str]) -> str:
    """Return the block of a CODEOWNERS file for a policy's files.

    A file belongs to the owners of the queues that it declares, and to the organisation's owner if it declares anything
    else. Owners that are not handles of a code host, such as `group:default/vision`, are listed as comments.

    Args:
        facts: The facts of the policy.
        path_of: Returns a file's path in the repository.
    """
    return "\n".join((BEGIN, *_lines(facts, path_of), END)) + "\n"


def _lines(facts: Facts, path_of: Callable[[str], str]) -> Iterator[str]:
    organisation = facts.values.get(Fact(ORGANISATION, "", "", ("owner",)))
    owners: dict[str, dict[str, None]] = {}
    for (kind, name), at in facts.locations.items():
        owner = facts.values.get(Fact(QUEUE, name, "", ("owner",))) if kind == QUEUE else organisation
        owner = owner or organisation
        if owner and at.line:
            owners.setdefault(at.file, {})[str(owner)] = None
    for file in sorted(owners, key=path_of):
        named = [owner for owner in owners[file] if _HANDLE.fullmatch(owner)]
        path = _pattern(path_of(file))
        if named:
            yield f"{path} {' '.join(named)}"
        for owner in owners[file]:
            if owner not in named:
                yield f"# {path}: {plain_text(owner)} is not a handle"


def _pattern(path: str) -> str:
    """Return the pattern that matches one file: white space and special characters are escaped."""
    return "/" + re.sub(r"([\\\s#*?\[\]!])", r"\\\1", plain_text(path))


def with_block(text: str, block: str) -> str:
    """Return a CODEOWNERS file with its block replaced, or appended, because later lines take precedence.

    Raises:
        ValueError: If the begin marker has no end marker, or occurs more than once.
    """
    lines = text.splitlines()
    begins = [n for n, line in enumerate(lines) if line.startswith("# BEGIN apportion")]
    ends = [n for n, line in enumerate(lines) if line == END]
    if not begins and not ends:
        before = text if not text or text.endswith("\n") else f"{text}\n"
        return f"{before}\n{block}" if before else block
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise ValueError(f"`# BEGIN apportion` and `{END}` must each appear once, in this order")
    kept = [*lines[: begins[0]], *block.rstrip("\n").split("\n"), *lines[ends[0] + 1 :]]
    return "\n".join(kept) + "\n"
