"""An ElasticQuota among the manifests or in the cluster, with its amounts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apportion_api.koordinator.objects import ElasticQuota
from apportion_api.objects import read
from apportion_compiler.engine_rules.quota_amounts import Amounts, read_amounts
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict

_NONE = Amounts({}, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota(ElasticQuota):
    """A quota. `index` is None for an existing object that is not among the manifests."""

    index: int | None = None
    least: Amounts = _NONE
    most: Amounts = _NONE

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace or "default", self.name

    @property
    def max_keys(self) -> frozenset[str]:
        """The resources of `max`."""
        return frozenset(self.maximum)

    @property
    def min_keys(self) -> frozenset[str]:
        """The resources of `min`."""
        return frozenset(self.minimum)

    def rejected(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that the quota is rejected."""
        return self._verdict(Effect.REJECTED, field, kind, message, cure)

    def ignored(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that a field of the quota is ignored."""
        return self._verdict(Effect.IGNORED, field, kind, message, cure)

    def _verdict(self, effect: Effect, field: str, kind: str, message: str, cure: str) -> Verdict:
        if self.index is None:
            raise ValueError(f"quota {self.name} is not in the manifests")
        return Verdict(effect, self.index, field, kind, message, cure)


def read_quota(manifest: Manifest, index: int | None) -> Quota:
    """Parse a manifest as a quota."""
    quota = read(Quota, manifest)
    return replace(
        quota,
        index=index,
        least=read_amounts(index or 0, quota.minimum, "spec.min", signed=True),
        most=read_amounts(index or 0, quota.maximum, "spec.max", signed=True),
    )
