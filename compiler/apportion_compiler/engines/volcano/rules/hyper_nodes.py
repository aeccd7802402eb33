"""HyperNode: members and their selectors.

Source: config/crd/volcano/bases/topology.volcano.sh_hypernodes.yaml and pkg/webhooks/admission/hypernodes/validate/
admit_hypernode.go at ed72c7c81.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.volcano.rules.queues import rejected
from apportion_compiler.plain_objects import integer, items, mapping, text

_SELECTORS = ("exactMatch", "regexMatch", "labelMatch")
_TYPES = ("Node", "HyperNode")


def hyper_node_verdicts(index: int, node: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a HyperNode."""
    tier = integer(node, "spec", "tier")
    if tier is None or tier < 0:
        kind = "Required" if "tier" not in mapping(node, "spec") else "Invalid"
        yield rejected(
            index,
            "spec.tier",
            "a tier must be a non-negative integer",
            "set tier, starting at 1 for the narrowest domains",
            kind,
        )
    members = items(node, "spec", "members")
    if not members:
        yield rejected(
            index, "spec.members", "member must have at least one member", "add at least one member", "Required"
        )
    for number, member in enumerate(members):
        at = f"spec.members[{number}]"
        if text(member, "type") not in _TYPES:
            yield rejected(index, f"{at}.type", f"type must be {' or '.join(_TYPES)}", "use Node or HyperNode")
        selector = mapping(member, "selector")
        given = [key for key in _SELECTORS if key in selector]
        if not given:
            yield rejected(
                index,
                f"{at}.selector",
                "Either ExactMatch or RegexMatch or LabelMatch must be specified",
                "set exactMatch, regexMatch or labelMatch",
                "Required",
            )
        elif len(given) > 1:
            yield rejected(
                index,
                f"{at}.selector",
                "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
                f"remove {', '.join(given[1:])}",
            )
        pattern = text(selector, "regexMatch", "pattern")
        if pattern is not None and not _compiles(pattern):
            yield rejected(
                index,
                f"{at}.selector.regexMatch.pattern",
                "member regexMatch pattern is invalid",
                "use an RE2 pattern",
            )


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
