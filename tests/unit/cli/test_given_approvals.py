"""The owners in a file of `--require-approvals`."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion_cli.given_approvals import given_approvals


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        (b"# approved by mail\n@acme/vision # on Monday\n\n  @acme/speech\t#\n", ("@acme/vision", "@acme/speech")),
        (b"slack:#vision\n", ("slack:#vision",)),
        (b"\xef\xbb\xbf@acme/vision\r\n@acme/speech\r\n", ("@acme/vision", "@acme/speech")),
    ],
    ids=["comments", "number sign in a name", "byte order mark"],
)
def test_file_has_one_owner_per_line(text: bytes, owners: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "owners.txt"
    file.write_bytes(text)
    assert given_approvals(str(file), ()) == owners
