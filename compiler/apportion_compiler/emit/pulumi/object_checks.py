"""What is wrong with the objects that a stack is about to write, by the compiler's own rules.

Between the compiler and the engine there is whatever a program, a transformation or a hand put there. The objects are
read back into a policy again, as `apportion import` does, given the machines that the policy declares, and evaluated by the
same checks and engine rules. What those already say of the compiler's own output is nobody else's fault, and left out.
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
from apportion_compiler.rollout.hazards import is_queue
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
    NOT_COMPILED: "A queue in the stack that the policy does not have.",
    OVER_CAPACITY: "A guarantee above its parent's, or above the capacity of the nodes.",
    UNOWNED: "A queue without an owner.",
    UNBOUND_CLASS: "A priority class that no queue of the policy may use.",
    REFUSED: "An object that its engine's webhook would reject.",
}
"""What a stack's objects are evaluated by, each with what it finds."""

_OWNER_RULE = "AP115"
_QUOTA_FAMILIES = ("AP2", "AP6")


@dataclass(frozen=True, slots=True)
class Violation:
    """One finding: which policy is violated, by which object (`Kind name`, or the cluster), and how."""

    policy: str
    object: str
    text: str


@dataclass(frozen=True, slots=True)
class PolicyEvaluator:
    """What a stack's objects are held to.

    Attributes:
        policy: The declared policy.
        compilation: What it compiles to for the stack.
        former: What the stack has applied; held for a while where an update has several steps.
        as_of: The day of the compilation.
    """

    policy: Policy
    compilation: Compilation
    former: AppliedState
    as_of: date

    def violations(self, objects: Mapping[str, Sequence[Manifest]]) -> Iterator[Violation]:
        """Yield what is wrong with objects, which come by `cluster/target`; those of no target under an empty name."""
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
                    why = (
                        "it has Apportion's label, but no policy generates it" if marked else "declare it in the policy"
                    )
                    yield Violation(NOT_COMPILED, described(manifest), f"no queue of the policy generates it: {why}")

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
                    yield Violation(UNBOUND_CLASS, described(manifest), "no queue of the policy may use it")

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
        """Return the policy that objects describe, on the machines that the declared one has.

        Raises:
            ValueError: If a value of an object cannot be read.
            UnwritableError: If it is none that a policy can hold.
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
        # What objects hold is the cluster's own part already.
        here = cluster.model_copy(update={"share": "1"})
        return Policy(
            # Who answers for a queue stands on its object; the organisation would answer for all.
            organisation=Organisation(name=self.policy.organisation.name),
            queues=_unrestricted(declared.queues),
            priority_classes=self.policy.priority_classes,
            node_pools=self.policy.node_pools,
            provisioning_plans=self.policy.provisioning_plans,
            environments=(environment.model_copy(update={"clusters": (here,), "overrides": ()}),),
        )


def _unrestricted(queues: Iterable[Queue]) -> tuple[Queue, ...]:
    """Return queues without what names classes or pools, which those of the record call as the engine does."""
    return tuple(queue.model_copy(update={"priority_classes": None, "pools": None}) for queue in queues)


def _policy_of(finding: Diagnostic) -> str | None:
    if finding.suppression is not None:
        return None
    if finding.code == _OWNER_RULE:
        return UNOWNED
    if finding.code.startswith(_QUOTA_FAMILIES) and finding.effective_severity is Severity.ERROR:
        return OVER_CAPACITY
    return None
