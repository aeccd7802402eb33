"""A stack's configuration as plain text, as Pulumi passes it to programs other than the stack's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from apportion_compiler.emit.pulumi.settings import NAMESPACE


class Values:
    """Texts by full key, such as `apportion:policy`, parsed as by the stack's program."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def get(self, key: str) -> str | None:
        """Return the text value of a key."""
        return self._values.get(f"{NAMESPACE}:{key}")

    def get_object(self, key: str) -> Any:
        """Return the structured value of a key."""
        text = self.get(key)
        return None if text is None else json.loads(text)
