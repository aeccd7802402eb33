"""Objects that Kueue's webhooks and CEL rules reject, and fields that it ignores.

Webhooks: pkg/webhooks/{clusterqueue,cohort,resourceflavor,workload}_webhook.go; CEL rules: apis/kueue/v1beta2; inactive
ClusterQueues: pkg/cache/scheduler/clusterqueue.go, at ff69552e79. Feature gates are assumed to be in the stricter
state: on for additional validation (ConcurrentAdmission), off for exemptions of stored objects.

Types and required fields of the CRD schemas are not evaluated here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kueue.names import GROUP
from apportion_compiler.engine_rules.verdict import EngineRules, Manifest, Verdict
from apportion_compiler.engines.kueue.rules.admission_checks import check_verdicts, config_verdicts
from apportion_compiler.engines.kueue.rules.cluster_queues import cluster_queue_verdicts
from apportion_compiler.engines.kueue.rules.cohorts import cohort_verdicts
from apportion_compiler.engines.kueue.rules.flavors import flavor_verdicts, topology_verdicts
from apportion_compiler.engines.kueue.rules.inactive_queues import verdicts_together
from apportion_compiler.engines.kueue.rules.local_queues import local_queue_verdicts
from apportion_compiler.engines.kueue.rules.workloads import workload_verdicts
from apportion_compiler.plain_objects import group_of, name_of, text

_KINDS = {
    "ClusterQueue": cluster_queue_verdicts,
    "Cohort": cohort_verdicts,
    "ResourceFlavor": flavor_verdicts,
    "Topology": topology_verdicts,
    "LocalQueue": local_queue_verdicts,
    "AdmissionCheck": check_verdicts,
    "ProvisioningRequestConfig": config_verdicts,
    "Workload": workload_verdicts,
}


def check(manifests: Sequence[Manifest], existing: Sequence[Manifest] = ()) -> Iterator[Verdict]:
    """Yield verdicts on Kueue's objects: each alone and as an update, then all together."""
    stored: Mapping[tuple[object, ...], Manifest] = {_identity(one): one for one in existing if group_of(one) == GROUP}
    for index, manifest in enumerate(manifests):
        validate = _KINDS.get(str(manifest.get("kind"))) if group_of(manifest) == GROUP else None
        if validate is not None:
            yield from validate(index, manifest, stored.get(_identity(manifest)))
    yield from verdicts_together(manifests, existing)


def _identity(manifest: Manifest) -> tuple[object, ...]:
    return manifest.get("kind"), text(manifest, "metadata", "namespace"), name_of(manifest)


RULES = EngineRules("kueue", check)
