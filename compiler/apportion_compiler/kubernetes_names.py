"""Names that Kubernetes accepts, made from identities that it may not accept.

A queue's id names its object and is written into labels of workloads, so the stricter bound, 63 characters, holds
for every emitted name. An identity that fits stays as it is; any other keeps a readable part and gains a digest of
the whole, so that two identities do not meet by being cut.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_NAME = 63
"""Length of a label value, and of an RFC 1123 label."""

_DIGEST = 8
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(?:\.{_LABEL.pattern})*")
_GKE_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?")
_GKE_LENGTH = 40
_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_MAX_PREFIX = 253


def object_name(identity: str) -> str:
    """Return the `metadata.name` of the object that an identity stands for, at most 63 characters.

    A label that refers to such an object holds this same text.
    """
    if len(identity) <= MAX_NAME and _SUBDOMAIN.fullmatch(identity):
        return identity
    return _with_digest(re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()), identity)


def dotless_name(identity: str) -> str:
    """Return a name that is an RFC 1123 label, for engines to which a dot or slash in a name parts a path."""
    if len(identity) <= MAX_NAME and _LABEL.fullmatch(identity):
        return identity
    return _with_digest(re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()), identity)


def versioned_name(identity: str, content: str) -> str:
    """Return a name that differs as content does, for objects whose content cannot be changed where they stand."""
    return _with_digest(re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()), content)


def label_value(text: str) -> str:
    """Return a label value for text that is not the name of an object, such as an owner; empty text stays empty."""
    if is_label_value(text):
        return text
    return _with_digest(re.sub(r"[^A-Za-z0-9._-]+", "-", _ascii(text)), text)


def suggested_name(identity: str) -> str | None:
    """Return the nearest RFC 1123 label of at most 63 characters that an author could write; None if nothing is left."""
    name = re.sub(r"[^a-z0-9]+", "-", _ascii(identity).lower()).strip("-")[:MAX_NAME].strip("-")
    return name or None


def is_label(text: str) -> bool:
    """Tell whether text consists as an RFC 1123 label does, whatever its length."""
    return _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Tell whether text consists as an RFC 1123 subdomain does, whatever its length."""
    return _SUBDOMAIN.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Tell whether text can be the value of a label."""
    return not text or (len(text) <= MAX_NAME and _LABEL_VALUE.fullmatch(text) is not None)


def is_label_key(text: str) -> bool:
    """Tell whether text can be the key of a label or taint: `name`, or `prefix.example.com/name`."""
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
    # object_name gives an identity that is too long or has other characters a digest of the whole: keep that end.
    readable, _, digest = object_name(f"{id_}/").rpartition("-")
    head = re.sub(r"[^a-z0-9-]+", "-", readable).strip("-")
    head = head if head[:1].isalpha() else f"p-{head}"
    return f"{head[: _GKE_LENGTH - len(digest) - 1].rstrip('-')}-{digest}"
