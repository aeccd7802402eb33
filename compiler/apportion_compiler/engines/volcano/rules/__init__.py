"""Objects that Volcano's schemas and webhooks reject, and fields that Volcano ignores.

Source: pkg/webhooks/admission/{queues,jobs,podgroups,hypernodes}/validate and config/crd/volcano/bases at ed72c7c81,
with the flags of the webhook manager at their defaults (five levels, the root queue protected).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.objects import read
from apportion_api.volcano import names
from apportion_api.volcano.objects import Queue
from apportion_compiler.engine_rules.verdict import EngineRules, Manifest, Verdict
from apportion_compiler.engines.volcano.rules.configuration import configuration_verdicts
from apportion_compiler.engines.volcano.rules.groups import group_verdicts
from apportion_compiler.engines.volcano.rules.hierarchy import hierarchy_verdicts
from apportion_compiler.engines.volcano.rules.hyper_nodes import hyper_node_verdicts
from apportion_compiler.engines.volcano.rules.jobs import job_verdicts
from apportion_compiler.engines.volcano.rules.queue_tree import queue_tree
from apportion_compiler.engines.volcano.rules.queues import queue_verdicts
from apportion_compiler.plain_objects import group_of


def check(manifests: Sequence[Manifest], existing: Sequence[Manifest] = ()) -> Iterator[Verdict]:
    """Yield verdicts on queues, jobs, pod groups, hyper nodes and Volcano's configuration."""
    tree = queue_tree(manifests, existing)
    queues: list[tuple[int, Queue]] = []
    for index, manifest in enumerate(manifests):
        match group_of(manifest), manifest.get("kind"):
            case names.GROUP, "Queue":
                queues.append((index, read(Queue, manifest)))
                yield from queue_verdicts(index, manifest, tree)
            case names.GROUP, "PodGroup":
                yield from group_verdicts(index, manifest, tree, existing)
            case names.BATCH_GROUP, "Job":
                yield from job_verdicts(index, manifest, tree, existing)
            case names.TOPOLOGY_GROUP, "HyperNode":
                yield from hyper_node_verdicts(index, manifest)
            case _:
                pass
    yield from hierarchy_verdicts(queues, tree)
    yield from configuration_verdicts(manifests, existing, tree)


RULES = EngineRules("volcano", check)
