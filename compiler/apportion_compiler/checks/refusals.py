"""AP5xx and AP618: what an engine cannot express. `fidelity.py` makes the findings; the rules are named here.

An error is what would leave a hard promise of the policy without anything that holds it; a warning is what changes
how well a cluster is shared.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.diagnostics.diagnostic import Rule, Severity

_RULES = (
    Rule("AP501", "unsupported-lending-limit", Severity.WARNING, "the engine lends an idle guarantee whole"),
    Rule("AP502", "unsupported-extended-resources", Severity.ERROR, "the engine keeps no quota for the resource"),
    Rule("AP503", "unsupported-user-limits", Severity.WARNING, "the engine bounds no single person"),
    Rule("AP504", "unsupported-allowed-pools", Severity.WARNING, "the engine ties no queue to node pools"),
    Rule("AP505", "unsupported-queued-provisioning", Severity.WARNING, "the engine asks for no capacity as a whole"),
    Rule("AP506", "unsupported-guarantee", Severity.WARNING, "the engine keeps nothing back for a queue"),
    Rule("AP507", "unsupported-over-quota-weight", Severity.WARNING, "the engine divides no surplus by weight"),
    Rule("AP508", "unsupported-queue-priority", Severity.WARNING, "the engine knows no priority of queues"),
    Rule("AP509", "unsupported-minimum-runtime", Severity.WARNING, "the engine protects no work by its run time"),
    Rule("AP510", "unsupported-gpu-sharing", Severity.WARNING, "the engine gives out whole GPUs only"),
    Rule("AP511", "unsupported-topology", Severity.WARNING, "the engine places no work by network levels"),
    Rule("AP512", "limit-over-namespaces", Severity.WARNING, "the engine bounds each namespace by itself"),
    Rule("AP513", "mixed-gpu-counting", Severity.ERROR, "a promise of GPUs names no model where models are told apart"),
    Rule("AP514", "unsupported-gpu-model-quota", Severity.ERROR, "the engine keeps no quota for a GPU model"),
    Rule("AP515", "unsupported-weight-per-resource", Severity.WARNING, "the engine has one weight for all resources"),
    Rule("AP516", "unsupported-placement", Severity.WARNING, "the engine cannot place work as the policy says"),
    Rule("AP518", "tree-beyond-engine", Severity.ERROR, "the engine cannot hold a tree of queues"),
    Rule("AP519", "amount-beyond-engine", Severity.ERROR, "the engine cannot hold an amount"),
    Rule(
        "AP618",
        "queued-pool-unreachable",
        Severity.WARNING,
        "a queue's limit leaves nothing on machines it may queue for",
    ),
    Rule("AP520", "declared-quota-mismatch", Severity.ERROR, "an object's declared quotas are not the guarantee"),
)

REFUSALS: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}
"""Every rule of the family by its code."""
