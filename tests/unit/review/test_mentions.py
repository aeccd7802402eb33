"""Owners in a comment: a handle is mentioned, anything else is code."""

from __future__ import annotations

import pytest

from apportion_review.report.markdown import mention


@pytest.mark.parametrize("owner", ["@acme/vision", "@platform"])
def test_handle_is_mentioned(owner: str) -> None:
    assert mention(owner) == owner


@pytest.mark.parametrize("owner", ["@all", "@All", "@everyone", "@here", "@channel", "group:default/vision", "a|b"])
def test_other_owner_notifies_nobody(owner: str) -> None:
    assert mention(owner) == f"`{owner.replace('|', '¦')}`"
