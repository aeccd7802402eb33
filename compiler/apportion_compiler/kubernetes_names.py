"""Valid Kubernetes names for arbitrary identities.

A queue's id names its object and is used in labels of workloads, so the stricter limit, 63 characters, applies to every
emitted name. A valid identity is unchanged; any other keeps a readable part and gets a digest of the whole, so that
truncated identities do not collide.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

MAX_NAME = 63
"""Maximum length of a label value, and of an RFC 1123 label."""

_DIGEST = 8
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(?:\.{_LABEL.pattern})*")
_GKE_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?")
_GKE_LENGTH = 40
_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_MAX_PREFIX = 253
_MAX_KNOWN = 65_536


# The same few identities are named in the objects of every engine.
@lru_cache(maxsize=_MAX_KNOWN)
def object_name(identity: str) -> str:
    """Return the `metadata.name` of an identity's object, at most 63 characters.

    A label that references the object has the same text.
    """
    if len(identity) <= MAX_NAME and _SUBDOMAIN.fullmatch(identity):
        return identity
    return _with_digest(re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()), identity)


def dotless_name(identity: str) -> str:
    """Return a name that is an RFC 1123 label, for engines in which dots and slashes separate path components."""
    if len(identity) <= MAX_NAME and _LABEL.fullmatch(identity):
        return identity
    return _with_digest(re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()), identity)


def versioned_name(identity: str, content: str) -> str:
    """Return a name that depends on the content, for objects whose content is immutable."""
    return _with_digest(re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()), content)


@lru_cache(maxsize=_MAX_KNOWN)
def label_value(text: str) -> str:
    """Return a label value for text that is not an object's name, such as an owner; empty text stays empty."""
    if is_label_value(text):
        return text
    return _with_digest(re.sub(r"[^A-Za-z0-9._-]+", "-", _ascii(text)), text)


def suggested_name(identity: str) -> str | None:
    """Return the nearest valid RFC 1123 label of at most 63 characters; None if nothing remains."""
    name = re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()).strip("-")[:MAX_NAME].strip("-")
    return name or None


def is_label(text: str) -> bool:
    """Return whether text has the characters of an RFC 1123 label, regardless of its length."""
    return _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Return whether text has the characters of an RFC 1123 subdomain, regardless of its length."""
    return _SUBDOMAIN.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Return whether text is a valid label value."""
    return not text or (len(text) <= MAX_NAME and _LABEL_VALUE.fullmatch(text) is not None)


def is_label_key(text: str) -> bool:
    """Return whether text is a valid key of a label or taint: `name`, or `prefix.example.com/name`."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _MAX_PREFIX and is_subdomain(prefix)):
        return False
    return bool(name) and is_label_value(name)


def _with_digest(readable: str, identity: str) -> str:
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    head = readable.strip("-._")[: MAX_NAME - _DIGEST - 1].strip("-._")
    return f"{head}-{digest}" if head else f"x-{digest}"


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def gke_name(id_: str) -> str:
    """Return a node pool's name on GKE: at most 40 characters, a letter first, no dots.

    Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools, `name`.
    """
    if _GKE_NAME.fullmatch(id_):
        return id_
    # object_name appends a digest to an identity that is too long or has invalid characters: keep that suffix.
    readable, _, digest = object_name(f"{id_}/").rpartition("-")
    head = re.sub(r"[^a-z0-9-]+", "-", readable).strip("-")
    head = head if head[:1].isalpha() else f"p-{head}"
    return f"{head[: _GKE_LENGTH - len(digest) - 1].rstrip('-')}-{digest}"
