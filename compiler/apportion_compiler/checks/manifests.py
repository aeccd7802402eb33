"""AP7xx: raw manifests. `manifests/` reports the findings of the engines' rules; the rules are registered here."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.diagnostics.diagnostic import Rule, Severity

MANIFEST_REJECTED = Rule(
    "AP701", "manifest-rejected", Severity.ERROR, "the API server or the engine rejects a manifest"
)
MANIFEST_IGNORED = Rule(
    "AP702", "manifest-ignored", Severity.WARNING, "the engine accepts a manifest but ignores part of it"
)
WORKLOAD_PENDING = Rule("AP703", "workload-pending", Severity.ERROR, "a workload is accepted but never starts")
UNREADABLE_MANIFEST = Rule("AP705", "unreadable-manifest", Severity.ERROR, "a manifest cannot be read", required=True)
MANIFEST_DEPRECATED = Rule("AP706", "manifest-deprecated", Severity.WARNING, "a manifest uses a deprecated name")

MANIFEST_RULES: Mapping[str, Rule] = {
    rule.code: rule
    for rule in (MANIFEST_REJECTED, MANIFEST_IGNORED, WORKLOAD_PENDING, UNREADABLE_MANIFEST, MANIFEST_DEPRECATED)
}
"""Every rule of the family by its code."""
