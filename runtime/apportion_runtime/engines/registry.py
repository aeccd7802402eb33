"""The registry of simulated engines. An engine is registered by its line in `ENGINES`.

Importing it imports no engine: `detection.py` loads their models.
"""

from __future__ import annotations

ENGINES = (
    "kai",
    "ack",
    "kueue",
    "volcano",
    "koordinator",
    "yunikorn",
    "native",
)
"""The names of the engines, each that of its folder, whose `model.py` defines `MODEL`."""
