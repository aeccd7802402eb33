"""How many replicas Ray Serve wants of a service, by the requests that are under way.

Source: ray.serve `autoscaling_policy.py` at 2.5x and its defaults: the requests divided by `target_ongoing_requests`,
rounded up, within the bounds; more when that was so for `upscale_delay_s`, fewer when it was for `downscale_delay_s`.
One replica is one worker of the group here. Smoothing factors are 1, and a delay is waited out from the change itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from apportion_runtime.admission.objects import nested
from apportion_runtime.sim.scenario import Demand, Manifest, Scaling

UPSCALE_DELAY_S, DOWNSCALE_DELAY_S = 30.0, 600.0


def bounds_of(service: Manifest) -> tuple[int, int]:
    """Return the least and the most workers of a RayService's first group.

    Raises:
        ValueError: If it has no group of workers.
    """
    groups = nested(service, "spec", "rayClusterConfig", "workerGroupSpecs") or ()
    if not groups:
        raise ValueError("a RayService with a group of workers follows its requests, and nothing else")
    return groups[0].get("minReplicas") or 0, groups[0].get("maxReplicas") or groups[0].get("replicas") or 0


def scalings_of(demand: Sequence[Demand], target: float, least: int, most: int) -> Iterator[Scaling]:
    """Yield when a service gets other replicas, from the least on.

    Args:
        demand: Requests under way from each moment on, in order.
        target: How many of them one replica is to have.
        least: Replicas that there are always.
        most: Replicas that there are at most.
    """
    current = least
    since: float | None = None
    was_more = False
    for step, following in pairwise([*demand, Demand(math.inf, 0.0)]):
        wanted = min(most, max(least, math.ceil(step.total / target)))
        if wanted == current:
            since = None
            continue
        if since is None or was_more != (wanted > current):
            since, was_more = step.at_s, wanted > current
        at = max(step.at_s, since + (UPSCALE_DELAY_S if was_more else DOWNSCALE_DELAY_S))
        if at < following.at_s:
            yield Scaling(at, wanted)
            current, since = wanted, None
