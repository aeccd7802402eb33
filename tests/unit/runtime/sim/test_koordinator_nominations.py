"""Nominations of pods that were rejected with their gang."""

from __future__ import annotations

from apportion_runtime.engines.koordinator.nominations import WrittenNominations


def _rejected(*reasons: str) -> tuple[dict[str, str], str]:
    counted: dict[str, str] = {}
    nominations = WrittenNominations(counted)
    for reason in reasons:
        counted.pop("pod", None)
        nominations.reject("pod", "n1", reason)
    return counted, nominations.node("pod")


def test_a_rejected_pod_is_nominated_to_its_node() -> None:
    assert _rejected("quota") == ({"pod": "n1"}, "n1")


def test_the_next_rejection_clears_the_nomination() -> None:
    assert _rejected("quota", "quota") == ({}, "")


def test_a_repeated_reason_writes_a_nomination_that_does_not_count() -> None:
    assert _rejected("quota", "quota", "quota") == ({}, "n1")
    assert _rejected("quota", "quota", "nodes") == ({"pod": "n1"}, "n1")


def test_a_failed_attempt_counts_the_written_nomination() -> None:
    counted: dict[str, str] = {}
    nominations = WrittenNominations(counted)
    for _ in range(3):
        counted.clear()
        nominations.reject("pod", "n1", "quota")
    nominations.fail("pod")
    assert counted == {"pod": "n1"}
    assert nominations.withdraw("pod") == "n1"
    assert (counted, nominations.node("pod")) == ({}, "")


def test_a_pod_of_the_same_name_is_not_nominated_after_its_deletion() -> None:
    counted: dict[str, str] = {}
    nominations = WrittenNominations(counted)
    nominations.reject("pod", "n1", "quota")
    nominations.forget("pod")
    assert (counted, nominations.node("pod")) == ({}, "")
