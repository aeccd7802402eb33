"""PriorityClass on KAI, which reads only the value, and treats 100 and above as non-preemptible.

Non-preemptible workloads are confined to their queue's quota (capacity_policy/quota_check.go), so the values in
Kubernetes' own documentation silently prevent the use of surplus.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kai.names import INSTALLED_CLASSES, NON_PREEMPTIBLE_FROM, PREEMPTIBILITY_LABEL
from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import is_a, read
from apportion_compiler.backends.metadata import MANAGED_BY_LABEL, MANAGER
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts


def class_verdicts(index: int, manifest: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a class that Apportion did not emit.

    Emitted classes declare their preemptibility, and the admission policies enforce it on workloads.
    """
    if not is_a(PriorityClass, manifest):
        return
    cls = read(PriorityClass, manifest)
    about, value = FieldVerdicts(index), cls.value
    if cls.name.startswith("system-") or cls.labels.get(MANAGED_BY_LABEL) == MANAGER:
        return
    if value is not None and value >= NON_PREEMPTIBLE_FROM and cls.name not in INSTALLED_CLASSES:
        yield about.ignored(
            "value", "Invalid",
            f"KAI never preempts workloads with priority {value}, and limits them to their queue's quota",
            f"use a value below {NON_PREEMPTIBLE_FROM}, or set the label {PREEMPTIBILITY_LABEL}: preemptible on its workloads",
        )  # fmt: skip
    if cls.preemption_policy == "Never":
        yield about.ignored(
            "preemptionPolicy", "NotSupported", "in KAI, workloads with this class preempt others regardless of preemptionPolicy",
            "remove preemptionPolicy, and lower the class's value",
        )  # fmt: skip
