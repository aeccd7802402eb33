"""What changed in the records of a cluster since a session was opened from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from apportion_runtime.core.snapshot import Pod


@dataclass(slots=True)
class Changes:
    """What has to be rebuilt."""

    jobs: dict[str, None] = field(default_factory=dict)
    nodes: dict[int, dict[str, None]] = field(default_factory=dict)
    """For each node, the pods whose records changed; pods that the session itself placed there are not among them."""
    others: bool = False
    requests: list[Pod] = field(default_factory=list)
    """Pods whose request may name a resource that the session does not have."""

    def outdate(self, i: int, uid: str) -> None:
        """Record that a pod of a node changed."""
        uids = self.nodes.get(i)
        if uids is None:
            self.nodes[i] = {uid: None}
        else:
            uids[uid] = None
