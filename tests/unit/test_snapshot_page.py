"""The examples of the page on snapshots have no findings."""

from __future__ import annotations

import re
from pathlib import Path

from apportion_runtime.snapshots.document_loader import Source
from apportion_runtime.snapshots.snapshot_reader import read_snapshot

_PAGE = Path(__file__).parents[2] / "docs/snapshot.md"


def test_document_on_the_page_is_valid() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    read = read_snapshot([Source("docs/snapshot.md", text)])
    assert read.faults == ()
    assert read.snapshot is not None
    assert [pod.name for pod in read.snapshot.pods] == ["train-0", "train-1"]
    assert read.settings.k_value == 0.5
