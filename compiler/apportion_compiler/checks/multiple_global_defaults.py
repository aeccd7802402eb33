"""AP403: more than one default priority class.

Source: kubernetes plugin/pkg/admission/priority: a second PriorityClass with globalDefault is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph

MULTIPLE_GLOBAL_DEFAULTS = Rule(
    "AP403", "multiple-global-defaults", Severity.ERROR, "more than one priority class is the global default"
)


def multiple_global_defaults(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report every declared default after the first."""
    defaults = [cls for cls in graph.policy.priority_classes if cls.global_default]
    for cls in defaults[1:]:
        first = defaults[0]
        yield Diagnostic(
            MULTIPLE_GLOBAL_DEFAULTS,
            f"priority class {cls.name}",
            f"`{cls.name}` and `{first.name}` are both the global default; Kubernetes allows only one",
            cls.source,
            (Related(first.source, f"`{first.name}` is the global default"),),
            f"remove `global_default` from `{cls.name}` or from `{first.name}`",
            ValueEdit(cls.source, ("global_default",), value=False),
        )
