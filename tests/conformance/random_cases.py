"""The recorded decisions of engines in random timelines: see the folders `*_random`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def cases(folder: str) -> Iterator[dict[str, Any]]:
    """Yield the recorded cases of an engine, file by file in the order of their names."""
    for path in sorted((HERE / folder).glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)
