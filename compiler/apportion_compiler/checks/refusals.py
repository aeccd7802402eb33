"""AP5xx and AP618: features that an engine does not support, reported by `compiler/apportion_compiler/fidelity.py`.

A feature whose loss would leave a guarantee, limit or restriction unenforced is an error; one that only changes how a
cluster is shared is a warning.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.diagnostics.diagnostic import Rule, Severity

_RULES = (
    Rule(
        "AP501",
        "unsupported-lending-limit",
        Severity.WARNING,
        "the engine cannot limit the lending of idle guarantees",
    ),
    Rule("AP502", "unsupported-extended-resources", Severity.ERROR, "the engine cannot limit the resource"),
    Rule("AP503", "unsupported-user-limits", Severity.WARNING, "the engine does not support per-user limits"),
    Rule("AP504", "unsupported-allowed-pools", Severity.WARNING, "the engine cannot restrict a queue to node pools"),
    Rule(
        "AP505",
        "unsupported-queued-provisioning",
        Severity.WARNING,
        "the engine cannot request capacity for a whole workload",
    ),
    Rule("AP506", "unsupported-guarantee", Severity.WARNING, "the engine does not support guarantees"),
    Rule("AP507", "unsupported-over-quota-weight", Severity.WARNING, "the engine does not divide surplus by weight"),
    Rule("AP508", "unsupported-queue-priority", Severity.WARNING, "the engine does not support queue priorities"),
    Rule("AP509", "unsupported-minimum-runtime", Severity.WARNING, "the engine does not support minimum runtimes"),
    Rule("AP510", "unsupported-gpu-sharing", Severity.WARNING, "the engine allocates only whole GPUs"),
    Rule("AP511", "unsupported-topology", Severity.WARNING, "the engine does not support topology-aware placement"),
    Rule("AP512", "limit-over-namespaces", Severity.WARNING, "the engine limits each namespace separately"),
    Rule(
        "AP513",
        "mixed-gpu-counting",
        Severity.ERROR,
        "a GPU guarantee does not specify a model, but the cluster counts GPUs by model",
    ),
    Rule("AP514", "unsupported-gpu-model-quota", Severity.ERROR, "the engine does not support quotas per GPU model"),
    Rule(
        "AP515",
        "unsupported-weight-per-resource",
        Severity.WARNING,
        "the engine supports only one weight per queue, for all resources",
    ),
    Rule("AP516", "unsupported-placement", Severity.WARNING, "the engine does not support the placement strategy"),
    Rule("AP518", "unsupported-tree", Severity.ERROR, "the engine cannot represent the tree of queues"),
    Rule("AP519", "amount-beyond-engine-limit", Severity.ERROR, "the engine cannot represent an amount"),
    Rule(
        "AP618",
        "queued-pool-unreachable",
        Severity.WARNING,
        "a queue's limit leaves no quota on a pool with queued provisioning",
    ),
    Rule(
        "AP520",
        "declared-quota-mismatch",
        Severity.ERROR,
        "an object's declared quotas do not add up to the guarantee",
    ),
)

REFUSALS: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}
"""Every rule of the family by its code."""
