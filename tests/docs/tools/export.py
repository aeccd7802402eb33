"""Print the objects below a folder as `kubectl get -o json` prints what a cluster holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

_NOT_OBJECTS = {"Kustomization", "Configuration"}

files = sorted(Path(sys.argv[1]).rglob("*.yaml"))
documents = (document for file in files for document in yaml.safe_load_all(file.read_text(encoding="utf-8")))
items = [
    document
    for document in documents
    if isinstance(document, dict)
    and {"apiVersion", "metadata"} <= document.keys()
    and document["kind"] not in _NOT_OBJECTS
]
json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout, indent=1)
