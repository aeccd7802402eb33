"""Violations of the compiler's rules by the objects that a stack is about to write.

A program or a transformation can change objects between the compiler and Pulumi's engine. The objects are imported into
a policy, as by `apportion import`, combined with the declared machines, and evaluated by the same checks and engine
rules. Findings about the unchanged output of the compiler are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from apportion_compiler.backends.metadata import MANAGED_BY_LABEL, MANAGER
from apportion_compiler.compile import Compilation, Target, check_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Severity
from apportion_compiler.emit.pulumi.applied_objects import AppliedState
from apportion_compiler.emit.pulumi.resource_names import target_name
from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.errors import UnwritableError
from apportion_compiler.ir.program import Program
from apportion_compiler.plain_objects import Manifest, described, labels_of, name_of
from apportion_compiler.policy_writer.declarations import PolicyIdentity, declare_record
from apportion_compiler.readers.cluster_reader import read_cluster
from apportion_compiler.rollout.destructive_changes import is_queue
from apportion_compiler.rollout.identity import Identity as ObjectIdentity
from apportion_compiler.rollout.identity import identity_of
from apportion_policy.engine import Engine
from apportion_policy.policy import Organisation, Policy
from apportion_policy.queue import Queue

NOT_COMPILED = "queue-not-compiled"
OVER_CAPACITY = "guarantee-over-capacity"
UNOWNED = "queue-without-owner"
UNBOUND_CLASS = "class-not-bound"
REFUSED = "refused-by-engine"
POLICIES: Mapping[str, str] = {
    NOT_COMPILED: "Report queues that the policy does not declare.",
    OVER_CAPACITY: "Report guarantees that exceed the parent's guarantee or the cluster's capacity.",
    UNOWNED: "Report queues without an owner.",
    UNBOUND_CLASS: "Report priority classes that no queue in the policy allows.",
    REFUSED: "Report objects that the engine's webhook would reject.",
}
"""The policies that evaluate a stack's objects, with descriptions."""

_OWNER_RULE = "AP115"
_QUOTA_FAMILIES = ("AP2", "AP6")


@dataclass(frozen=True, slots=True)
class Violation:
    """A finding: the violated policy, the violating object (`Kind name`, or the cluster), and a description."""

    policy: str
    object: str
    text: str


@dataclass(frozen=True, slots=True)
class PolicyEvaluator:
    """The basis for the evaluation of a stack's objects.

    Attributes:
        policy: The declared policy.
        compilation: Its compilation for the stack.
        former: The applied objects, which remain during an update with several steps.
        as_of: The day of the compilation.
    """

    policy: Policy
    compilation: Compilation
    former: AppliedState
    as_of: date

    def violations(self, objects: Mapping[str, Sequence[Manifest]]) -> Iterator[Violation]:
        """Yield the violations of objects, given by `cluster/target`; the key is empty for objects of no target."""
        yield from self._not_compiled(objects)
        yield from self._unbound_classes(objects)
        for target, program in self.compilation.programs.items():
            if target.backend != program.engine:
                continue
            cluster = [m for name in objects if name.startswith(f"{target.cluster}/") for m in objects[name]]
            own = [m for t, o in self.compilation.outputs.items() if t.cluster == target.cluster for m in o.manifests]
            if {identity_of(m): m for m in cluster} == {identity_of(m): m for m in own}:
                continue
            known = set(self._of_cluster(target, program, own))
            yield from (one for one in self._of_cluster(target, program, cluster) if one not in known)

    def _not_compiled(self, objects: Mapping[str, Sequence[Manifest]]) -> Iterator[Violation]:
        for name, manifests in objects.items():
            known = self._identities(name)
            for manifest in manifests:
                if is_queue(manifest) and identity_of(manifest) not in known:
                    marked = labels_of(manifest).get(MANAGED_BY_LABEL) == MANAGER
                    text = (
                        "not generated from the policy, although it has Apportion's label"
                        if marked
                        else "not generated from the policy; declare the queue in the policy"
                    )
                    yield Violation(NOT_COMPILED, described(manifest), text)

    def _identities(self, name: str) -> frozenset[ObjectIdentity]:
        compiled = (
            m for target, o in self.compilation.outputs.items() if target_name(target) == name for m in o.manifests
        )
        before = self.former.targets[name].objects if name in self.former.targets else ()
        return frozenset(identity_of(m) for m in (*compiled, *before))

    def _unbound_classes(self, objects: Mapping[str, Sequence[Manifest]]) -> Iterator[Violation]:
        for name, manifests in objects.items():
            programs = [p for t, p in self.compilation.programs.items() if t.cluster == name.partition("/")[0]]
            bound = {cls for p in programs for queue in p.queues if queue.is_leaf for cls in queue.priority_classes}
            for manifest in manifests:
                if manifest.get("kind") != "PriorityClass" or identity_of(manifest) in self._identities(name):
                    continue
                if name_of(manifest) not in bound:
                    yield Violation(UNBOUND_CLASS, described(manifest), "not allowed by any queue in the policy")

    def _of_cluster(self, target: Target, program: Program, manifests: Sequence[Manifest]) -> Iterator[Violation]:
        for verdict in ENGINE_RULES[program.engine].check(manifests, ()):
            if verdict.effect is Effect.REJECTED:
                yield Violation(REFUSED, described(manifests[verdict.index]), f"{verdict.field}: {verdict.message}")
        try:
            record = self._lifted(target, program, manifests)
        except (ValueError, UnwritableError) as unreadable:
            yield Violation(REFUSED, f"cluster {target.cluster}", str(unreadable))
            return
        for finding in check_policy(record, self.as_of).diagnostics:
            policy = _policy_of(finding)
            if policy is not None:
                yield Violation(policy, finding.address, f"{finding.code}: {finding.message}")

    def _lifted(self, target: Target, program: Program, manifests: Sequence[Manifest]) -> Policy:
        """Import objects into a policy with the machines of the declared policy.

        Raises:
            ValueError: If a value of an object cannot be read.
            UnwritableError: If a policy cannot represent it.
        """
        identity = PolicyIdentity(
            self.policy.organisation.name,
            target.environment,
            target.cluster,
            Engine(program.engine),
            program.engine_version,
        )
        declared = declare_record(read_cluster(program.engine, manifests), identity)
        environment = next(e for e in self.policy.environments if e.name == target.environment)
        cluster = next(c for c in environment.clusters if c.name == target.cluster)
        # The objects already contain the cluster's scaled amounts.
        here = cluster.model_copy(update={"share": "1"})
        return Policy(
            # The owner of a queue is on its object; the organisation would be the owner of all.
            organisation=Organisation(name=self.policy.organisation.name),
            queues=_unrestricted(declared.queues),
            priority_classes=self.policy.priority_classes,
            node_pools=self.policy.node_pools,
            provisioning_plans=self.policy.provisioning_plans,
            environments=(environment.model_copy(update={"clusters": (here,), "overrides": ()}),),
        )


def _unrestricted(queues: Iterable[Queue]) -> tuple[Queue, ...]:
    """Return queues without references to classes or pools, which an import names as the engine does."""
    return tuple(queue.model_copy(update={"priority_classes": None, "pools": None}) for queue in queues)


def _policy_of(finding: Diagnostic) -> str | None:
    if finding.suppression is not None:
        return None
    if finding.code == _OWNER_RULE:
        return UNOWNED
    if finding.code.startswith(_QUOTA_FAMILIES) and finding.effective_severity is Severity.ERROR:
        return OVER_CAPACITY
    return None
