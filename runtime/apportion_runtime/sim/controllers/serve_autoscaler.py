"""Ray Serve's replica autoscaling by ongoing requests.

Source: ray.serve `autoscaling_policy.py` and `config.py` (AutoscalingConfig) at 2.5x: the requests divided by
`target_ongoing_requests`, rounded up, within the bounds; scaled up once that has held for `upscale_delay_s`, and down
once it has held for `downscale_delay_s`. Here, one replica is one worker of the group, and a delay starts with the
change itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import yaml

from apportion_runtime.admission.objects import nested
from apportion_runtime.sim.scenario.format import Demand, Manifest, Scaling

UPSCALE_DELAY_S, DOWNSCALE_DELAY_S = 30.0, 600.0
_TARGET, _AUTO_MOST = 2.0, 100
_CONFIG = "autoscaling_config"
_READ = (
    "min_replicas",
    "max_replicas",
    "initial_replicas",
    "target_ongoing_requests",
    "upscale_delay_s",
    "downscale_delay_s",
)
_WITHOUT_EFFECT = ("metrics_interval_s", "look_back_period_s")
"""Fields about measuring requests, which the scenario provides."""


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """The autoscaling of a Ray Serve deployment: `target` ongoing requests per replica, `least` to `most` replicas."""

    target: float
    least: int
    most: int
    upscale_delay_s: float = UPSCALE_DELAY_S
    downscale_delay_s: float = DOWNSCALE_DELAY_S


def autoscaling_of(service: Manifest, target: float | None) -> Autoscaling:
    """Return the autoscaling of a RayService: its `serveConfigV2`, limited to the workers of its first group.

    Args:
        service: The RayService.
        target: Ongoing requests per replica; overrides the value of the service.

    Raises:
        ValueError: If it does not autoscale, or uses a setting that is not simulated.
    """
    groups = nested(service, "spec", "rayClusterConfig", "workerGroupSpecs") or ()
    if not groups:
        raise ValueError("only a RayService with a worker group can be autoscaled on the number of ongoing requests")
    least, most = groups[0].get("minReplicas") or 0, groups[0].get("maxReplicas") or groups[0].get("replicas") or 0
    configs = list(_configs(_serve_config(service)))
    if target is not None and len(configs) != 1:
        return Autoscaling(target, least, most)
    if not configs:
        raise ValueError("serveConfigV2 has no autoscaling_config: set `target_ongoing_requests`, or `load`")
    if len(configs) > 1:
        raise ValueError(
            f"{len(configs)} deployments in serveConfigV2 have an autoscaling_config: set `target_ongoing_requests` for all of them"
        )
    return _read(configs[0], target, least, most)


def _serve_config(service: Manifest) -> object:
    written = nested(service, "spec", "serveConfigV2")
    try:
        return yaml.safe_load(written) if isinstance(written, str) else None
    except yaml.YAMLError as wrong:
        raise ValueError(f"invalid YAML in serveConfigV2: {' '.join(str(wrong).split())}") from None


def _configs(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the autoscaling configurations below a value, `num_replicas: auto` being one with Ray's defaults for it."""
    if isinstance(value, Mapping):
        own = value.get(_CONFIG)
        if value.get("num_replicas") == "auto":
            yield {"max_replicas": _AUTO_MOST, **(own if isinstance(own, Mapping) else {})}
        elif isinstance(own, Mapping):
            yield own
        for key, held in value.items():
            if key != _CONFIG:
                yield from _configs(held)
    elif isinstance(value, list):
        for held in value:
            yield from _configs(held)


def _read(config: Mapping[str, Any], target: float | None, least: int, most: int) -> Autoscaling:
    for key, value in config.items():
        if key not in _READ and key not in _WITHOUT_EFFECT and value not in (None, 1, 1.0):
            raise ValueError(f"{key} of autoscaling_config is not simulated: set `load`")
    try:
        made = Autoscaling(
            target or float(config.get("target_ongoing_requests") or _TARGET),
            max(least, int(config.get("min_replicas", 1))),
            min(most, int(config.get("max_replicas") or 1)),
            float(config.get("upscale_delay_s", UPSCALE_DELAY_S)),
            float(config.get("downscale_delay_s", DOWNSCALE_DELAY_S)),
        )
    except (TypeError, ValueError):
        raise ValueError("the fields of autoscaling_config must be numbers") from None
    if made.target <= 0 or made.least > made.most:
        raise ValueError(
            f"invalid autoscaling_config: min_replicas {made.least}, max_replicas {made.most}, target_ongoing_requests {made.target:g}"
        )
    return made


def scalings_of(demand: Sequence[Demand], how: Autoscaling) -> Iterator[Scaling]:
    """Yield the scalings of a service, starting from its minimum; `demand` is ongoing requests, in order of time."""
    current = how.least
    since: float | None = None
    was_more = False
    for step, following in pairwise([*demand, Demand(math.inf, 0.0)]):
        wanted = min(how.most, max(how.least, math.ceil(step.total / how.target)))
        if wanted == current:
            since = None
            continue
        if since is None or was_more != (wanted > current):
            since, was_more = step.at_s, wanted > current
        at = max(step.at_s, since + (how.upscale_delay_s if was_more else how.downscale_delay_s))
        if at < following.at_s:
            yield Scaling(at, wanted)
            current, since = wanted, None
