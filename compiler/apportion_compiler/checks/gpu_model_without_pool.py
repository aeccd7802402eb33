"""AP603: a GPU model is guaranteed or limited where no node pool has it.

Evaluates the declarations, because the resolved values of a cluster omit models that its pools lack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from apportion_compiler.checks.gpu_mentions import GpuMention, gpu_mentions, replaced_gpus
from apportion_compiler.checks.suggestions import suggester
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.cluster import Environment

GPU_MODEL_WITHOUT_POOL = Rule(
    "AP603", "gpu-model-without-pool", Severity.ERROR, "a quota specifies a GPU model that no node pool has"
)
_MAX_RELATED = 10

_Suggest = Callable[[str], str | None]


def gpu_model_without_pool(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the models in queues and overrides with those of each environment's pools."""
    models = _models_by_environment(graph)
    if not models:
        return
    suggest = suggester(sorted({model for found in models.values() for model in found}))
    reported: set[tuple[str, str, str | None]] = set()
    without_effect: dict[tuple[str, str], list[GpuMention]] = {}
    # A model that every environment has is valid anywhere.
    known = frozenset[str].intersection(*models.values())
    replaced = replaced_gpus(graph)
    for mention in gpu_mentions(graph, known):
        named_for = models if mention.environments is None else mention.environments
        lacking = [name for name in models if name in named_for and mention.model not in models[name]]
        everywhere = mention.environments is None and len(lacking) == len(graph.policy.environments)
        if mention.environments is None and not everywhere:
            for name in lacking:
                if mention.amount and (name, mention.node.id, mention.field) not in replaced:
                    without_effect.setdefault((name, mention.model), []).append(mention)
            continue
        for stage in (None,) if everywhere else lacking:
            if (mention.node.id, mention.model, stage) not in reported:
                reported.add((mention.node.id, mention.model, stage))
                yield _nowhere(graph, mention, stage, suggest)
    for (name, model), mentions in without_effect.items():
        yield _without_effect(graph.declarations.environments[name], model, mentions)


def _models_by_environment(graph: PolicyGraph) -> Mapping[str, frozenset[str]]:
    """Return the models of each environment's pools, except for environments that have a cluster without pools."""
    found: dict[str, frozenset[str]] = {}
    for environment in graph.policy.environments:
        if all(cluster.pools for cluster in environment.clusters):
            pools = (pool for cluster in environment.clusters for pool in graph.pools_of(cluster))
            found[environment.name] = frozenset(
                pool.accelerator.model for pool in pools if pool.accelerator is not None
            )
    return found


def _nowhere(graph: PolicyGraph, mention: GpuMention, environment: str | None, suggest: _Suggest) -> Diagnostic:
    model = mention.model
    unused = next(
        (p for p in graph.declarations.pools.values() if p.accelerator is not None and p.accelerator.model == model),
        None,
    )
    clusters = "cluster" if environment is None else f"cluster of {environment}"
    meant = suggest(model)
    if unused is not None:
        hint = f"add `{unused.id}` to `pools` in a {clusters}"
    elif meant is not None:
        hint = f"replace {model} with {meant}, or add a node pool with {model} to a cluster"
    else:
        hint = f"add a node pool with {model} to a cluster, or remove {model} from `{mention.node.id}`"
    return Diagnostic(
        GPU_MODEL_WITHOUT_POOL,
        mention.node.address,
        f"`{mention.node.id}` is {mention.text}, but no {clusters} has a node pool with this model",
        mention.at,
        (Related(unused.source, f"`{unused.id}` has this model, but no cluster lists the pool"),)
        if unused is not None
        else (),
        hint,
        None,
        environment,
    )


def _without_effect(environment: Environment, model: str, mentions: list[GpuMention]) -> Diagnostic:
    """Report once per environment the amounts without effect there that take effect in other environments."""
    n_queues = len({mention.node.id for mention in mentions})
    queues = f"`{mentions[0].node.id}`" if n_queues == 1 else f"{n_queues:,} queues"
    return Diagnostic(
        GPU_MODEL_WITHOUT_POOL,
        f"environment {environment.name}",
        f"{environment.name} has no node pool with {model.upper()}, so the amounts of {queues} count as 0 there",
        environment.source,
        tuple(Related(m.at, f"`{m.node.id}` is {m.text}") for m in mentions[:_MAX_RELATED]),
        f"override {queues if n_queues == 1 else 'them'} in {environment.name} to use a different GPU model, or add a "
        f"node pool with {model.upper()} to one of its clusters",
        None,
        environment.name,
        Severity.WARNING,
    )
