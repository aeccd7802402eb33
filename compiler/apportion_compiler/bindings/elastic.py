"""Workloads between a least and a greatest number of workers: `bind --min --max`.

Ray scales its worker groups itself. Other kinds ask for the most, and their engine starts them with the least: KAI and
Volcano by the gang's minimum, Kueue by admitting a Job in part. Where neither holds, all start or none, so that a
least number would be ignored; that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.workload_fields import annotate
from apportion_compiler.engines.kai import names as kai
from apportion_compiler.engines.kueue.names import MIN_PARALLELISM_ANNOTATION
from apportion_compiler.engines.volcano.binding import MIN_MEMBER_ANNOTATION
from apportion_compiler.workload_shapes import Node, found, mapping, section, sequence

COMPLETIONS_ANNOTATION = "kueue.x-k8s.io/job-completions-equal-parallelism"
"""Has an indexed Job that is admitted in part end with as many completions as it got pods."""
_RAY = frozenset({"RayCluster", "RayJob", "RayService"})


def workers_at_first(kind: str, engine: str, least: int, most: int) -> int:
    """Return how many workers a template of a kind is made with.

    Raises:
        BindingError: If the numbers are inverted, or the kind cannot start with fewer workers on the engine.
    """
    if least > most:
        raise BindingError(f"--min {least} is more than --max {most}")
    if kind in _RAY:
        if engine == "kueue":
            raise BindingError(
                f"Kueue admits a {kind} as a whole and refuses one that scales itself: use --workers {most} instead"
            )
        return least
    if (kind, engine) not in _STARTS:
        can = sorted({known for known, of in _STARTS if of == engine} | ({*_RAY} if engine != "kueue" else set()))
        raise BindingError(
            f"{engine} starts all workers of a {kind} or none, so --min has no meaning; it can be given for {', '.join(can)}"
        )
    return most


def make_elastic(workload: Node, kind: str, engine: str, least: int, most: int) -> None:
    """Write the bounds into a workload that was put into its queue."""
    if kind in _RAY:
        for path in (("spec",), ("spec", "rayClusterSpec"), ("spec", "rayClusterConfig")):
            groups = sequence(found(workload, *path, "workerGroupSpecs"))
            for group in groups:
                mapping(group).update({"replicas": least, "minReplicas": least, "maxReplicas": most})
            if groups:
                section(workload, *path)["enableInTreeAutoscaling"] = True
        return
    _STARTS[kind, engine](workload, least, most)


def _kai_job(workload: Node, least: int, most: int) -> None:
    annotate(workload, {kai.MIN_MEMBER_ANNOTATION: str(least)})


def _kueue_job(workload: Node, least: int, most: int) -> None:
    annotate(workload, {MIN_PARALLELISM_ANNOTATION: str(least), COMPLETIONS_ANNOTATION: "true"})


def _volcano_job_of_kubernetes(workload: Node, least: int, most: int) -> None:
    annotate(workload, {MIN_MEMBER_ANNOTATION: str(least)})


def _volcano_job(workload: Node, least: int, most: int) -> None:
    section(workload, "spec")["minAvailable"] = least


def _pytorch_job(workload: Node, least: int, most: int) -> None:
    """Torchrun's own rendezvous needs no master: all are workers, as the training operator's elastic jobs are."""
    replicas = section(workload, "spec", "pytorchReplicaSpecs")
    workers = mapping(replicas.get("Worker") or replicas.get("Master"))
    replicas.pop("Master", None)
    workers["replicas"] = most
    replicas["Worker"] = workers
    section(workload, "spec")["elasticPolicy"] = {"rdzvBackend": "c10d", "minReplicas": least, "maxReplicas": most}


_STARTS: Mapping[tuple[str, str], Callable[[Node, int, int], None]] = {
    ("Job", "kai"): _kai_job,
    ("PyTorchJob", "kai"): _pytorch_job,
    ("Job", "kueue"): _kueue_job,
    ("Job", "volcano"): _volcano_job_of_kubernetes,
    ("VolcanoJob", "volcano"): _volcano_job,
}
