"""Rules of the API server and controllers on objects, and of kube-scheduler on its configuration.

Source: k8s.io/kubernetes v1.36.3: pkg/apis/core/validation, pkg/apis/scheduling/validation,
pkg/apis/autoscaling/validation, pkg/quota/v1/evaluator/core/pods.go, plugin/pkg/admission/{limitranger,priority},
pkg/scheduler/apis/config/validation and pkg/scheduler/framework/plugins/registry.go. Object names, labels and schemas
are not evaluated here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_compiler.engine_rules.verdict import EngineRules, Verdict
from apportion_compiler.engines.native.rules.autoscalers import autoscaler
from apportion_compiler.engines.native.rules.fault import Rule
from apportion_compiler.engines.native.rules.jobs import cron_job, job
from apportion_compiler.engines.native.rules.limit_ranges import limit_range
from apportion_compiler.engines.native.rules.priority_classes import one_default, priority_class
from apportion_compiler.engines.native.rules.quotas import resource_quota
from apportion_compiler.engines.native.rules.scheduler import scheduler_configuration
from apportion_compiler.plain_objects import Manifest, group_of, name_of, text

_RULES: Mapping[tuple[str, str], Rule] = {
    ("", "ResourceQuota"): resource_quota,
    ("", "LimitRange"): limit_range,
    (SCHEDULING_GROUP, "PriorityClass"): priority_class,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaler,
    ("batch", "Job"): job,
    ("batch", "CronJob"): cron_job,
    ("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration"): scheduler_configuration,
}


def check(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on the manifests, in their order."""
    held = {_identity(manifest): manifest for manifest in existing}
    for index, manifest in enumerate(manifests):
        rule = _RULES.get((group_of(manifest), str(manifest.get("kind"))))
        if rule is not None:
            for fault in rule(manifest, held.get(_identity(manifest))):
                yield Verdict(fault.effect, index, fault.field, fault.kind, fault.message, fault.cure)
    yield from one_default(manifests, existing)


def _identity(manifest: Manifest) -> tuple[str, str, str | None, str]:
    return group_of(manifest), str(manifest.get("kind")), text(manifest, "metadata", "namespace"), name_of(manifest)


RULES = EngineRules("native", check)
