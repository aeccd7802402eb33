"""Handcrafted reviews: running work with given fates, between two small policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from apportion_compiler.compile import check_policy, compile_checked
from apportion_compiler.targets import targets_of
from apportion_policy.documents import load_document
from apportion_review.fates.records import EngineFates, Fate, Verdict, Workload, WorkloadFate
from apportion_review.policy_facts import facts_of
from apportion_review.policy_review import ReviewInputs, policy_review
from apportion_review.policy_side import PolicySide
from apportion_review.review import Review, SnapshotInfo

AS_OF = date(2026, 11, 21)
POLICY = """\
apiVersion: apportion.dev/v1
kind: Policy
organisation: {name: acme, owner: "@acme/platform"}
queues:
- {id: research, owner: "@acme/research-leads"}
- {id: vision, parent: research, owner: "@acme/vision-leads", namespaces: [vision], guaranteed: {gpu: 16}}
- {id: speech, parent: research, owner: "@acme/speech-leads", namespaces: [speech], guaranteed: {gpu: 8}}
environments:
- name: prod
  clusters: [{name: one, engine: kueue, engine_version: "0.18.3"}]
"""


def side(folder: Path, text: str, name: str) -> PolicySide:
    """A policy as a side of a comparison."""
    file = folder / f"{name}.yaml"
    file.write_text(text)
    policy = load_document(file)
    checked = check_policy(policy, AS_OF)
    assert checked.graph is not None
    return PolicySide(
        name, AS_OF, policy, facts_of(checked.graph), checked, compile_checked(checked, targets_of(policy))
    )


def reviewed(folder: Path, edits: dict[str, str], **inputs: Any) -> Review:
    """The review of `POLICY` with some texts replaced."""
    text = POLICY
    for before, after in edits.items():
        assert before in text
        text = text.replace(before, after)
    return policy_review(side(folder, POLICY, "base"), side(folder, text, "head"), ReviewInputs(**inputs))


def row(
    name: str,
    head: Fate,
    base: Fate = Fate.SAFE,
    *,
    queue: str = "vision",
    gpus: int = 8000,
    rule: str = "over its queue's quota",
    started: float | None = 0.0,
) -> WorkloadFate:
    """A running workload with the fates of both sides."""
    workload = Workload("Job", queue, name, queue, {"h100": gpus}, 1, started=started)
    return WorkloadFate(workload, Verdict(base, "its queue is within its quota"), Verdict(head, rule))


def fates(rows: Iterable[WorkloadFate], *, is_verified: bool = True) -> EngineFates:
    """The fates of a cluster."""
    return EngineFates("kueue", "Kueue v0.18.3", is_verified, tuple(rows), ("Failed nodes are not modelled.",))


def with_fates(review: Review, rows: Sequence[WorkloadFate]) -> Review:
    """A review whose cluster has these fates, from a snapshot that was taken after an hour and is 14 minutes old."""
    from dataclasses import replace

    snapshot = SnapshotInfo("prod.json", "sha256:0", 3600.0, 840)
    clusters = (replace(review.clusters[0], snapshot=snapshot, fates=fates(rows), why_no_fates=""),)
    return replace(review, clusters=clusters)
