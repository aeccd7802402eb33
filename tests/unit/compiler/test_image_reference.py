"""References of images that are pinned by digest, by the grammar of the kubelet's parser."""

from __future__ import annotations

import pytest

from apportion_compiler.image_reference import pinned_image_fault

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "repository",
    [
        "apportion",
        "library/apportion",
        "registry.example/apportion",
        "registry.example:5000/platform/apportion:1.0",
        "localhost:5000/apportion",
        "10.0.0.1:5000/apportion",
        "Registry-1.example/a__b/c--d/e.f:V1_0-rc.1",
        f"apportion:{'t' * 128}",
    ],
)
def test_reference_with_a_digest_is_valid(repository: str) -> None:
    assert pinned_image_fault(f"{repository}@{DIGEST}") is None


@pytest.mark.parametrize(
    ("reference", "fault"),
    [
        ("", "`` is not a repository"),
        (f"registry.example/Apportion@{DIGEST}", "`registry.example/Apportion` is not a repository"),
        (f"https://registry.example/apportion@{DIGEST}", "`https://registry.example/apportion` is not a repository"),
        (f"registry.example//apportion@{DIGEST}", "`registry.example//apportion` is not a repository"),
        (f"registry.example/apportion @{DIGEST}", "`registry.example/apportion ` is not a repository"),
        (f"registry.example/-apportion@{DIGEST}", "`registry.example/-apportion` is not a repository"),
        (f"registry.example/{'a' * 240}@{DIGEST}", "the repository name has 257 characters, but the maximum is 255"),
        (f"apportion:@{DIGEST}", "`` is not a tag"),
        (f"apportion:-1@{DIGEST}", "`-1` is not a tag"),
        (f"apportion:{'t' * 129}@{DIGEST}", "is not a tag: use at most 128 letters"),
        ("registry.example:5000/apportion", "it has no digest"),
        ("apportion:1.0", "it has no digest"),
        ("one@sha256:2", "`sha256:2` is not a digest: use sha256: followed by 64 lowercase hexadecimal digits"),
        (f"one@{DIGEST.upper()}", "is not a digest"),
        (f"one@{DIGEST}\n", "is not a digest"),
        (f"one@{DIGEST}@{DIGEST}", "is not a digest"),
        (f"one@sha512:{'0' * 128}", "is not a digest"),
    ],
)
def test_other_reference_is_reported_with_its_invalid_part(reference: str, fault: str) -> None:
    assert fault in (pinned_image_fault(reference) or "")
