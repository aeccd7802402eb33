"""The use of counted places in a session: which gangs lack some, and which node has the best one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRanking
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano.future_places import ShapePlaces
from apportion_runtime.engines.volcano.jobs import Job, Task
from apportion_runtime.engines.volcano.session import Session


def lacks_places(session: Session, job: Job, tasks: Sequence[Task]) -> ShapePlaces | None:
    """Return the places for the pods of a job that lacks some to start, after noting the attempts of a try; else None.

    A try would place pods as long as there are places, and discard what it did.

    Args:
        session: The cycle.
        job: The job.
        tasks: Its pending pods.
    """
    if job.shape(tasks) is None or job.n_lacking <= 0 or _has_many(session, tasks):
        return None
    places = session.places(tasks[0])
    if places is None or places.total >= min(job.n_lacking, len(tasks)):
        return None
    n_tried, request = places.total + 1, tasks[0].request
    if session.capacity.refused(job.queue, {name: value * n_tried for name, value in request.items()}):
        return None
    session.note_attempts(tasks[:n_tried])
    return places


def _has_many(session: Session, tasks: Sequence[Task]) -> bool:
    """Return whether as many nodes as there are pods have idle resources for one, if none has releasing ones."""
    ranking = None if session.has_changing else session.ranking(tasks[0])
    return ranking is not None and ranking.counts[None] >= len(tasks)


def best_places(
    session: Session, task: Task, places: ShapePlaces, ranking: NodeRanking, *, idle: bool
) -> npt.NDArray[np.intp]:
    """Return the rows of the nodes with the best score among those where a pod fits, in ascending order.

    Args:
        session: The cycle.
        task: The pod.
        places: The places for it.
        ranking: Its ranking, which implies that the score of a node does not depend on other nodes.
        idle: Whether only nodes with enough idle resources count.
    """
    return places.best(_score(session, task, places, ranking), idle=idle)


def ranked_places(
    session: Session, task: Task, places: ShapePlaces, ranking: NodeRanking, others: Collection[int]
) -> list[int]:
    """Return the rows of the nodes where a pod fits, and of some others that are not excluded, the best first.

    Args:
        session: The cycle.
        task: The pod.
        places: The places for it.
        ranking: Its ranking, as in `best_places`.
        others: The rows of the other nodes.
    """
    return places.in_order(_score(session, task, places, ranking), others)


def _score(session: Session, task: Task, places: ShapePlaces, ranking: NodeRanking) -> Callable[[NodeState], float]:
    def score(node: NodeState) -> float:
        if places.is_changing(node) or not ranking.is_feasible(node.row):
            return session.scored(task, (node,))[node.name]
        return ranking.score(node.row)

    return score
