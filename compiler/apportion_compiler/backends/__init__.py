"""One module (or folder) for each target: the IR in, Kubernetes objects out, in the order in which to apply them."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.backends import kai, native
from apportion_compiler.backends.capability import Backend

BACKENDS: Mapping[str, Backend] = {"kai": kai.BACKEND, "native": native.BACKEND}
