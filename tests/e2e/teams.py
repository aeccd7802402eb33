"""Who takes part in the tests of `policies/two-teams`: people of its two teams, and the platform."""

from __future__ import annotations

from dataclasses import dataclass

from .kubectl import Kubectl


@dataclass(frozen=True, slots=True)
class People:
    """One kubectl for each; a team is the group that owns its queue."""

    platform: Kubectl
    alpha: Kubectl
    beta: Kubectl

    def of(self, namespace: str) -> Kubectl:
        """Whoever works in a namespace: its team, or the platform where it is no team's."""
        return {"alpha": self.alpha, "beta": self.beta, "beta-serving": self.beta}.get(namespace, self.platform)


def people(kubectl: Kubectl) -> People:
    return People(kubectl, kubectl.as_user("ana", "@lab/alpha"), kubectl.as_user("ben", "@lab/beta"))
