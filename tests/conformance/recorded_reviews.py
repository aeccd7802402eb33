"""Recorded clusters reviewed as a user does: policies that compile to their objects, and the base as a snapshot.

The queues, classes and configuration of each side are read back as a policy, which is compiled again; the review exchanges the
snapshot's objects for those of each policy. Where a policy cannot say what was recorded, such as a queue of Volcano that is not
reclaimable, its compiled tree has the recorded objects instead. A side counts if the objects that the engine reads are then
the recorded ones: what is in no tree, such as the nodes or the pods, is the snapshot's on both sides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import yaml

from apportion_compiler.compile import CheckResult, check_policy, compile_checked
from apportion_compiler.diagnostics.diagnostic import Severity
from apportion_compiler.policy_writer.adoption import policy_of_objects
from apportion_compiler.policy_writer.declarations import PolicyIdentity
from apportion_compiler.targets import targets_of
from apportion_policy.engine import Engine
from apportion_policy.policy import Policy, Rules, RuleSeverity
from apportion_review.cluster_reviews import ClusterSnapshot, manifests_of
from apportion_review.fates.cluster_objects import objects_under
from apportion_review.policy_facts import facts_of
from apportion_review.policy_review import ReviewInputs, policy_review
from apportion_review.policy_side import PolicySide
from apportion_review.report.comment import comment
from apportion_review.report.document import review_json
from apportion_review.review import Review, SnapshotInfo

CLUSTER = "prod/one"
VERSIONS = {Engine.KAI: "0.17", Engine.KUEUE: "0.18", Engine.VOLCANO: "1.16"}
AS_OF = date(2026, 11, 21)
Objects = Sequence[Mapping[str, Any]]
_DEFAULTS: Mapping[str, Sequence[tuple[str, object]]] = {
    "SchedulingShard": (("spec.placementStrategy", {"gpu": "binpack", "cpu": "binpack"}),),
    # Volcano treats an unset spec.deserved for cpu and memory as 0.
    "Queue": (("spec.dequeueStrategy", "traverse"), ("spec.deserved.cpu", "0"), ("spec.deserved.memory", "0")),
}
"""Fields that compiled objects set and recorded ones leave to the engine's defaults."""
_NOT_DECLARED = frozenset(("Node", "Pod", "PodGroup", "Workload"))


@dataclass(frozen=True, slots=True)
class RecordedReview:
    """The review of a recorded change.

    Attributes:
        review: The command's result for the two policies and the snapshot.
        differing: Of the base and the head, the kinds of objects that differ from the recorded ones; empty if none does.
        is_compiled: Whether both trees are those that the policies compile to.
    """

    review: Review
    differing: tuple[tuple[str, ...], tuple[str, ...]]
    is_compiled: bool

    @property
    def fates(self) -> Mapping[str, tuple[Any, Any]]:
        """The verdicts of base and head, by the workload's name; none if the review calls them unknown."""
        (cluster,) = self.review.clusters
        return {} if cluster.fates is None else {row.workload.name: (row.base, row.head) for row in cluster.fates.rows}


def recorded_review(
    engine: Engine, base: Objects, head: Objects, *, now: float | None, snapshot_of: int = 0
) -> RecordedReview:
    """Review a change between two recorded clusters, and write its report.

    Args:
        engine: Of the cluster.
        base: Its objects before the change.
        head: Its objects after it.
        now: Time of the snapshot.
        snapshot_of: The side whose objects are the snapshot: 0 or 1.
    """
    sides = [_side(engine, name, objects) for name, objects in (("base", base), ("head", head))]
    cluster = (base, head)[snapshot_of]
    is_compiled = not any(set(kinds) - _NOT_DECLARED for kinds in _all_differing(cluster, sides, base, head))
    if not is_compiled:
        sides = [_with_tree(side, objects) for side, objects in zip(sides, (base, head), strict=True)]
    former, changed = sides
    snapshot = ClusterSnapshot(SnapshotInfo("recorded.json", "sha256:0", now, 0), cluster)
    review = policy_review(former, changed, ReviewInputs({CLUSTER: snapshot}))
    document, text = json.loads(review_json(review)), comment(review)
    assert document["kind"] == "PolicyReview"
    assert len(text.encode()) < 65_536
    return RecordedReview(review, _all_differing(cluster, sides, base, head), is_compiled)


def _all_differing(
    cluster: Objects, sides: Sequence[PolicySide], base: Objects, head: Objects
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    former, wanted = (manifests_of(side, CLUSTER) for side in sides)
    before = objects_under(cluster, (), former)
    after = objects_under(before, former, wanted)
    return tuple(_differing(base, before)), tuple(_differing(head, after))


def _with_tree(side: PolicySide, objects: Objects) -> PolicySide:
    """Return a side whose compiled tree has the recorded objects instead of those of the same kinds."""
    assert side.compilation is not None
    recorded = tuple(dict(made) for made in objects if made["kind"] not in _NOT_DECLARED)
    kinds = {made["kind"] for made in recorded}
    outputs = {
        target: replace(output, manifests=tuple(made for made in output.manifests if made["kind"] not in kinds))
        for target, output in side.compilation.outputs.items()
    }
    first = next(iter(outputs))
    outputs[first] = replace(outputs[first], manifests=(*recorded, *outputs[first].manifests))
    return replace(side, compilation=replace(side.compilation, outputs=outputs))


def _side(engine: Engine, name: str, objects: Objects) -> PolicySide:
    identity = PolicyIdentity("acme", "prod", "one", engine, VERSIONS[engine], "@acme/platform")
    policy, _ = policy_of_objects(list(_declared(objects)), identity)
    checked = check_policy(policy, AS_OF)
    codes = _errors(checked)
    if codes:
        # The recorded guarantees exceed the capacity, which a policy must allow explicitly.
        policy = policy.model_copy(update={"rules": Rules(severity=dict.fromkeys(codes, RuleSeverity.OFF))})
        checked = check_policy(policy, AS_OF)
    return _compiled(name, policy, checked)


def _declared(objects: Objects) -> Iterator[Mapping[str, Any]]:
    """Yield the objects that the policy declares; a cohort without queues is not declared, and stays in the cluster."""
    spec = [made.get("spec") or {} for made in objects if made["kind"] in ("Cohort", "ClusterQueue")]
    named = {each.get(key) for each in spec for key in ("parentName", "cohortName")}
    for made in objects:
        if made["kind"] != "Cohort" or made["metadata"]["name"] in named:
            yield made


def _compiled(name: str, policy: Policy, checked: CheckResult) -> PolicySide:
    assert checked.graph is not None
    facts = facts_of(checked.graph)
    if codes := _errors(checked):
        return PolicySide(name, AS_OF, policy, facts, checked, None, f"has errors: {', '.join(codes)}")
    return PolicySide(name, AS_OF, policy, facts, checked, compile_checked(checked, targets_of(policy)))


def _errors(checked: CheckResult) -> list[str]:
    return sorted({found.code for found in checked.diagnostics if found.effective_severity is Severity.ERROR})


def _differing(recorded: Objects, reviewed: Objects) -> Iterator[str]:
    """Yield the kinds of recorded objects that differ in the review, and of engine objects that it adds.

    Classes that no recorded workload uses may be added: they affect only future workloads.
    """
    ours, theirs = ({_identity(made): _content(made) for made in objects} for objects in (reviewed, recorded))
    kinds = {identity[0] for identity in theirs} - {"PriorityClass"}
    seen = theirs.keys() | {identity for identity in ours if identity[0] in kinds}
    yield from sorted({identity[0] for identity in seen if ours.get(identity) != theirs.get(identity)})


def _identity(made: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = made.get("metadata") or {}
    return str(made["kind"]), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _content(made: Mapping[str, Any]) -> Any:
    """Return the fields of an object that the engine reads, without metadata that the compiler generates."""
    if made["kind"] in _NOT_DECLARED:
        return _plain(made)
    if made["kind"] == "PriorityClass":
        return made["value"]
    if made["kind"] == "ConfigMap":
        return {name: yaml.safe_load(text) for name, text in made["data"].items()}
    content = _plain({key: value for key, value in made.items() if key not in ("metadata", "apiVersion", "kind")})
    for path, value in _DEFAULTS.get(made["kind"], ()):
        *above, last = path.split(".")
        at = content
        for key in above:
            at = at.get(key, {})
        if at.get(last) == value:
            del at[last]
    return content


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items() if each not in (None, {}, [])}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
