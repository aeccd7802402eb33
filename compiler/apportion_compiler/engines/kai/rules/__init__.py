"""Objects that KAI's schema and webhooks reject, and fields that KAI ignores.

The webhook on queues requires only `spec.resources`: it does not check parents, cycles, sums or signs, and a missing
amount is 0 (pkg/admission/webhook/queuehooks/queue_validator.go, pkg/apis/scheduling/v2/resources.go,
pkg/apis/kai/v1alpha1/topology_webhook.go and pkg/apis/scheduling/v2alpha2/podgroup_webhook.go at d5bc503a).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_compiler.engine_rules.verdict import EngineRules, Manifest, Verdict
from apportion_compiler.engines.kai.rules.classes import class_verdicts
from apportion_compiler.engines.kai.rules.pod_groups import pod_group_verdicts
from apportion_compiler.engines.kai.rules.queue_tree import tree_verdicts
from apportion_compiler.engines.kai.rules.queues import queue_verdicts
from apportion_compiler.engines.kai.rules.shards import shard_verdicts
from apportion_compiler.engines.kai.rules.topologies import topology_verdicts


def check(manifests: Sequence[Manifest], existing: Sequence[Manifest] = ()) -> Iterator[Verdict]:
    """Yield verdicts on queues, shards, topologies, priority classes and pod groups."""
    for index, manifest in enumerate(manifests):
        yield from queue_verdicts(index, manifest)
        yield from shard_verdicts(index, manifest)
        yield from topology_verdicts(index, manifest, existing)
        yield from class_verdicts(index, manifest)
        yield from pod_group_verdicts(index, manifest)
    yield from tree_verdicts(manifests, existing)


RULES = EngineRules("kai", check)
