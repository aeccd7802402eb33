"""Waivers for features that some engines do not support, until their clusters are migrated to another engine.

`compile` still reports the support of each feature on each cluster.
"""

from apportion_policy import Waiver

PROMISED = ("ads", "assistant", "ci", "data", "nlp", "search", "speech", "vision")
BOUNDED = ("platform", "product")
BOUNDED_IN_ASIA = ("assistant", "ci", "interns", *BOUNDED)


def waiver(code, address, reason):
    """All waivers expire on the same day, and are then reviewed."""
    return Waiver(code=code, address=address, reason=reason, owner="@acme/platform", expires="2027-06-30")


def accepted(code, queues, reason):
    """Return one waiver for each queue."""
    return tuple(waiver(code, f"queue {queue}", reason) for queue in queues)


WAIVERS = (
    waiver(
        "AP406",
        "priority class serving",
        "Kueue reclaims GPUs that serving has borrowed; its guarantee is not affected",
    ),
    *accepted("AP506", PROMISED, "plain Kubernetes has no guarantees; the edge is small, and its teams coordinate"),
    *accepted("AP507", ("data", "nlp", "research", "vision"), "first come, first served until those clusters run KAI"),
    *accepted("AP508", ("assistant", "product"), "serving has a separate priority class on every cluster"),
    *accepted("AP509", ("research", "vision"), "training jobs of these queues write a checkpoint every ten minutes"),
    *accepted("AP510", ("ads", "interns"), "whole GPUs until those clusters run KAI"),
    *accepted("AP512", BOUNDED, "on the edge, each namespace has the full limit; no team has reached it"),
    *accepted(
        "AP618", BOUNDED_IN_ASIA, "all-or-nothing requests for machines in Asia are for departments without a limit"
    ),
)
