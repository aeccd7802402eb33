"""The inputs of `apportion fit`: a cluster of the policy, its snapshot, and the workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from apportion_cli.errors import PreconditionError
from apportion_cli.policy_nodes import policy_nodes
from apportion_cli.scenario_objects import objects_of_targets

if TYPE_CHECKING:
    from apportion_compiler.compile import Target
    from apportion_compiler.graph.graph import Scope
    from apportion_compiler.ir.program import Program
    from apportion_policy.policy import Policy
    from apportion_review.fit.clusters import CompiledCluster
    from apportion_runtime.engines.base.model import Model
    from apportion_runtime.sim.scenario.format import NodeShape


@dataclass(frozen=True, slots=True)
class ClusterCompiler:
    """Compiles one cluster of a policy, and of variants of the policy with other quotas.

    Attributes:
        scope: The cluster.
        targets: Its targets.
        as_of: Date on which overrides are evaluated.
        shard: SchedulingShard of the decision; None for all objects.
    """

    scope: Scope
    targets: tuple[Target, ...]
    as_of: date
    shard: str | None = None

    def compile(self, policy: Policy) -> CompiledCluster | None:
        """Return the cluster under a policy; None if the policy has errors. Raises `PreconditionError`."""
        from apportion_compiler.compile import compile_policy
        from apportion_compiler.diagnostics.diagnostic import has_errors
        from apportion_review.fit.clusters import CompiledCluster, of_shard

        compilation = compile_policy(policy, self.targets, self.as_of)
        if has_errors(compilation.diagnostics):
            return None
        objects = of_shard(objects_of_targets(compilation, self.targets), self.shard)
        program = compilation.programs[self.targets[0]]
        return CompiledCluster(program, objects, _shapes(program, objects))


def cluster_compiler(policy: Policy, scope: Scope, *, as_of: date) -> ClusterCompiler:
    """Return the compiler of a cluster."""
    from apportion_compiler.targets import targets_of

    assert scope.environment is not None
    assert scope.cluster is not None
    targets = targets_of(policy, (scope.environment.name,))
    own = tuple(target for target in targets if target.cluster == scope.cluster.name)
    return ClusterCompiler(scope, own, as_of)


def _shapes(program: Program, objects: Sequence[Mapping[str, object]]) -> Mapping[str, NodeShape]:
    from apportion_cli.machine_labels import with_flavor_labels
    from apportion_runtime.sim.scenario.format import Pool, Scenario

    pools = tuple(Pool(name, shape, 0, 0, 0) for name, shape in policy_nodes(program).items())
    return {pool.name: pool.shape for pool in with_flavor_labels(Scenario(pools=pools), objects).pools}


def model_of(engine: str) -> Model:
    """Return the model of an engine. Raises `PreconditionError` without one."""
    from apportion_compiler.engines.registry import TRAITS
    from apportion_runtime.engines.detection import MODELS

    model = next((model for model in MODELS if model.name == engine), None)
    if model is None:
        raise PreconditionError(f"the cluster runs {TRAITS[engine].title}, which the `fit` command does not support")
    return model
