"""ElasticQuotas that Koordinator's webhook rejects, and fields that the scheduler ignores.

The webhook evaluates one object at a time against existing ones (pkg/webhook/elasticquota at a7a1b76b); here, all
manifests are evaluated together, so that objects that can be applied in some order are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.koordinator.objects import ElasticQuota, ElasticQuotaProfile
from apportion_api.objects import is_a, read_all
from apportion_compiler.engine_rules.verdict import EngineRules, Manifest, ManifestVerdicts, Verdict
from apportion_compiler.engines.koordinator.rules.ignored_fields import ignored_verdicts
from apportion_compiler.engines.koordinator.rules.quota import Quota, read_quota
from apportion_compiler.engines.koordinator.rules.self_item import self_verdicts
from apportion_compiler.engines.koordinator.rules.settings import Settings, read_settings, settings_verdicts
from apportion_compiler.engines.koordinator.rules.topology import topology_verdicts
from apportion_compiler.plain_objects import of_kind, text


def check(manifests: Sequence[Manifest], existing: Sequence[Manifest] = ()) -> Iterator[Verdict]:
    """Yield verdicts on quotas, profiles, priority classes and the scheduler's configuration."""
    given = [read_quota(m, index) for index, m in enumerate(manifests) if is_a(ElasticQuota, m)]
    named = {quota.key for quota in given}
    there = [read_quota(m, None) for m in existing if is_a(ElasticQuota, m)]
    before = {quota.key: quota for quota in there}
    profiles = read_all(ElasticQuotaProfile, (*manifests, *existing))
    settings: Settings = read_settings(manifests, existing)
    kept = [quota for quota in there if quota.key not in named]
    quotas: list[Quota] = [*given, *kept]
    for quota in given:
        # Amounts are validated separately, with the webhook's messages.
        faults = tuple(fault for fault in quota.faults if fault.steps[0] == "metadata")
        yield from ManifestVerdicts(quota.index or 0, faults).mistyped()
        yield from self_verdicts(quota)
    pods = [(text(p, "metadata", "namespace") or "default", p) for p in of_kind(existing, "", "Pod")]
    yield from topology_verdicts(quotas, before, profiles, pods)
    yield from ignored_verdicts(given, quotas, settings)
    yield from settings_verdicts(manifests)


RULES = EngineRules("koordinator", check)
