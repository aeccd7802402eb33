"""A stack's configuration as plain text, as Pulumi hands it to those that are not its program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from apportion_compiler.emit.pulumi.settings import NAMESPACE


class Values:
    """Texts by full key, `apportion:policy`, read as the program itself would read them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def get(self, key: str) -> str | None:
        """Return a key's text."""
        return self._values.get(f"{NAMESPACE}:{key}")

    def get_object(self, key: str) -> Any:
        """Return a key's structure."""
        text = self.get(key)
        return None if text is None else json.loads(text)
