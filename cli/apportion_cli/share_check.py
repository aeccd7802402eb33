"""`apportion review --check-shares`: verify that a report's fair shares follow from the policies and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apportion_api.counted_nouns import counted
from apportion_cli.console import Console
from apportion_cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from apportion_review.cluster_reviews import ClusterSnapshot
    from apportion_review.policy_side import PolicySide


def show_share_check(
    console: Console,
    report: Mapping[str, object],
    base: PolicySide,
    head: PolicySide,
    snapshots: Mapping[str, ClusterSnapshot],
) -> int:
    """Print the faults of a report's shares, or the number of verified divisions. Return the exit code."""
    from apportion_review.shares.report_check import check_shares

    found = check_shares(report, base, head, snapshots)
    for fault in found.faults:
        console.out(f"{fault}\n")
    if found.faults:
        return ExitCode.FINDINGS
    divisions = f"{counted(found.n_divisions, 'division')} verified"
    console.out(f"{divisions}; {counted(found.n_unproven, 'unchanged share')} without proof\n")
    return ExitCode.OK
