"""Declared amounts in a scope: absent GPU models are removed, and the cluster's share is applied.

Scaled guarantees and lending limits are rounded down to whole units, and limits up. Each GPU model is rounded
separately, and a total of GPUs is the sum of its models.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from apportion_compiler.cluster_share import share_of
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_policy.cluster import Cluster
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import NodePool
from apportion_policy.quantity import Amount, Unlimited, total
from apportion_policy.resources import GPU, gpu_resource


class ScopeAmounts:
    """Converts amounts to a scope, and caches the results by object.

    `managed` collects the resources of guarantees and limits.
    """

    __slots__ = ("_alike", "_drop", "_models", "_share", "managed")

    def __init__(self, cluster: Cluster | None, pools: Mapping[str, NodePool]) -> None:
        self._models = gpu_models(cluster, pools)
        self._drop = cluster is not None
        self._share = Fraction(str(cluster.share)) if cluster is not None else Fraction(1)
        # Keyed by identity; the value holds a reference to the amounts, so that the identity is not reused.
        self._alike: dict[tuple[int, str], tuple[Mapping[str, Amount], Mapping[str, Amount]]] = {}
        self.managed: dict[str, None] = {}

    @property
    def scales(self) -> bool:
        """Whether the scope has a share other than 1."""
        return self._share != 1

    def present(self, amounts: Mapping[str, Amount]) -> Mapping[str, Amount]:
        """Return a guarantee without the models that the scope does not have."""
        return amounts if self._models is None or not self._drop else _only(amounts, self._models)

    def guaranteed(self, amounts: Mapping[str, Amount]) -> Mapping[str, Amount]:
        """Return a guarantee without the models that the scope does not have, scaled and rounded down."""
        known = self._alike.get((id(amounts), "guaranteed"))
        if known is None:
            known = self._remember(
                amounts, "guaranteed", self._scale(self.present(amounts), round_up=False), manages=True
            )
        return known[1]

    def with_models(
        self, amounts: Mapping[str, Amount], guaranteed: Mapping[str, Amount], models: Mapping[str, Amount]
    ) -> Mapping[str, Amount]:
        """Return the scaled guarantee of a queue that counts GPUs in total, and whose descendants count them by model.

        Args:
            amounts: The guarantee as written.
            guaranteed: The result of `guaranteed` for it.
            models: The guarantees of its descendants by model, as written.
        """
        declared = amounts.get(GPU)
        if self._share == 1 or not models or declared is None or isinstance(declared, Unlimited):
            return guaranteed
        named = total(models.values())
        if isinstance(named, Unlimited) or declared < named or any(r in models for r in amounts):
            return guaranteed
        scaled = self._scale({**models, GPU: declared - named}, round_up=False)
        return {**guaranteed, **scaled, GPU: total(scaled.values())}

    def bound(self, amounts: Mapping[str, Amount], *, round_up: bool = True) -> Mapping[str, Amount]:
        """Return a limit, rounded up, or a lending limit, rounded down; a total requires limits on all models."""
        kind = "limit" if round_up else "lending"
        known = self._alike.get((id(amounts), kind))
        if known is None:
            kept = amounts if self._models is None else _bounds(amounts, self._models, drop=self._drop)
            known = self._remember(amounts, kind, self._scale(kept, round_up=round_up), manages=round_up)
        return known[1]

    def _scale(self, amounts: Mapping[str, Amount], *, round_up: bool) -> Mapping[str, Amount]:
        if self._share == 1:
            return amounts
        scaled = {r: share_of(a, self._share, r, round_up=round_up) for r, a in amounts.items()}
        models = [r for r in scaled if r.startswith(GPU_MODEL_PREFIX)]
        if models and GPU in amounts and not round_up and amounts[GPU] == total(amounts[r] for r in models):
            scaled[GPU] = total(scaled[r] for r in models)
        return scaled

    def _remember(
        self, amounts: Mapping[str, Amount], kind: str, made: Mapping[str, Amount], *, manages: bool
    ) -> tuple[Mapping[str, Amount], Mapping[str, Amount]]:
        if manages:
            self.managed.update((r, None) for r in made if not r.startswith(GPU_MODEL_PREFIX))
        found = self._alike[id(amounts), kind] = (amounts, made)
        return found


def _only(amounts: Mapping[str, Amount], models: frozenset[str]) -> Mapping[str, Amount]:
    dropped = [r for r in amounts if r.startswith(GPU_MODEL_PREFIX) and r not in models]
    if not dropped:
        return amounts
    kept = {r: a for r, a in amounts.items() if r not in dropped}
    kept[GPU] = total(a for r, a in kept.items() if r.startswith(GPU_MODEL_PREFIX))
    return kept


def _bounds(amounts: Mapping[str, Amount], models: frozenset[str], *, drop: bool) -> Mapping[str, Amount]:
    named = frozenset(r for r in amounts if r.startswith(GPU_MODEL_PREFIX))
    if not named or named == models:
        return amounts
    kept = {r: a for r, a in amounts.items() if r != GPU and not (drop and r in named - models)}
    if models and named >= models:
        kept[GPU] = total(a for r, a in kept.items() if r.startswith(GPU_MODEL_PREFIX))
    return kept


def gpu_models(cluster: Cluster | None, pools: Mapping[str, NodePool]) -> frozenset[str] | None:
    """Return the GPU models of a cluster, or of all pools; None if pools do not declare them."""
    if cluster is not None and not cluster.pools:
        return None
    there = pools.values() if cluster is None else (pools[i] for i in map(identity_of, cluster.pools) if i in pools)
    models = frozenset(gpu_resource(pool.accelerator.model) for pool in there if pool.accelerator is not None)
    return models if models or cluster is not None else None
