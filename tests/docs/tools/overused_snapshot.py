"""Print a snapshot in which vision uses what speech does not, and nothing waits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="utf-8").replace("asr-large", "segmentation")
items = [
    made
    for made in json.loads(text)["items"]
    if not made["metadata"]["name"].startswith(("pg-tts", "tts", "pg-night", "night"))
]
for made in items:
    if made["metadata"].get("namespace") == "speech":
        made["metadata"]["namespace"] = "vision"
        if made["kind"] == "PodGroup":
            made["spec"]["queue"] = "vision"
json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout, indent=1)
