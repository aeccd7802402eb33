"""The users in the tests of `policies/two-teams`: members of its two teams, and the platform."""

from __future__ import annotations

from dataclasses import dataclass

from .kubectl import Kubectl


@dataclass(frozen=True, slots=True)
class People:
    """One kubectl per user; a team is the group that owns its queue."""

    platform: Kubectl
    alpha: Kubectl
    beta: Kubectl

    def of(self, namespace: str) -> Kubectl:
        """The user of a namespace: its team, or the platform if no team owns it."""
        return {"alpha": self.alpha, "beta": self.beta, "beta-serving": self.beta}.get(namespace, self.platform)


def people(kubectl: Kubectl) -> People:
    return People(kubectl, kubectl.as_user("ana", "@lab/alpha"), kubectl.as_user("ben", "@lab/beta"))
