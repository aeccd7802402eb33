"""The reference of a container image, as the kubelet parses it.

Source: github.com/distribution/reference v0.6.0, reference.go (grammar) and regexp.go, without IPv6 addresses:

    reference := [domain "/"] path-component ["/" path-component]* [":" tag] ["@" digest]

The length of the digest is that of github.com/opencontainers/go-digest for SHA-256, the only algorithm of the registries.
"""

from __future__ import annotations

import re

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 255


def pinned_image_fault(reference: str) -> str | None:
    """Return why a reference does not name one image by its digest, as a clause with the remedy; None if it does."""
    named, at, digest = reference.partition("@")
    # A colon before the last slash separates a port.
    head, slash, last = named.rpartition("/")
    last, colon, tag = last.partition(":")
    repository = f"{head}{slash}{last}"
    if not _REPOSITORY.fullmatch(repository):
        return (
            f"`{repository}` is not a repository: use [REGISTRY[:PORT]/]NAME, where NAME consists of lowercase "
            "letters and digits, separated by ., _, - or /"
        )
    if len(repository) > _LONGEST:
        return f"the repository name has {len(repository)} characters, but the maximum is {_LONGEST}"
    if colon and not _TAG.fullmatch(tag):
        return f"`{tag}` is not a tag: use at most 128 letters, digits, _, . and -, and do not begin with . or -"
    if not at:
        return "it has no digest: append @sha256: and the 64 hexadecimal digits that the registry reports"
    if not _DIGEST.fullmatch(digest):
        return f"`{digest}` is not a digest: use sha256: followed by 64 lowercase hexadecimal digits"
    return None
