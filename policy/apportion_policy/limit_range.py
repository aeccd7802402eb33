"""Limits and defaults of the containers of a namespace (LimitRange)."""

from __future__ import annotations

from itertools import combinations

from pydantic import Field, model_validator

from apportion_policy.declaration import Declaration
from apportion_policy.identifiers import Identifier
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU, Resources, amount_text

_ASCENDING = ("min", "default_request", "default_limit", "max")
"""Fields in ascending order: no amount may exceed that of a later field."""


class LimitRange(Declaration):
    """Limits and default requests of a container. GPUs are whole devices of any model."""

    name: Identifier = Field(default="apportion", description="Name of the LimitRange object.")
    default_request: Resources | None = Field(default=None, description="Default request for a container.")
    default_limit: Resources | None = Field(default=None, description="Default limit for a container.")
    min: Resources | None = Field(default=None, description="Minimum request for a container.")
    max: Resources | None = Field(default=None, description="Maximum limit for a container.")

    @model_validator(mode="after")
    def _is_in_order(self) -> LimitRange:
        amounts = {name: held.amounts() for name in _ASCENDING if isinstance(held := getattr(self, name), Resources)}
        if not any(amounts.values()):
            raise ValueError("it is empty: set `default_request`, `default_limit`, `min` or `max`")
        for name, held in amounts.items():
            for resource, amount in held.items():
                if isinstance(amount, Unlimited):
                    raise ValueError(f"`{name}`: {resource} cannot be unlimited; omit it")
                if resource.startswith(f"{GPU}/") or (resource == GPU and amount % 1000):
                    raise ValueError(f"`{name}`: specify whole GPUs without a model, such as `gpu=1`")
        for lower, upper in combinations(amounts, 2):
            for resource in amounts[lower].keys() & amounts[upper].keys():
                less, more = amounts[lower][resource], amounts[upper][resource]
                if isinstance(less, int) and isinstance(more, int) and less > more:
                    raise ValueError(
                        f"`{lower}` of {amount_text(resource, less)} exceeds `{upper}` of {amount_text(resource, more)}"
                    )
        return self
