"""Volcano's Job: tasks with replicas that work together."""

from __future__ import annotations

from apportion_api.volcano.names import JOB_ANNOTATION, TASK_ANNOTATION
from apportion_runtime.admission.expansion.expansion import Ending, Expansion, PodReplacement, slot
from apportion_runtime.admission.objects import Manifest, name_of, nested, whole


def expand_volcano_job(workload: Manifest) -> Expansion:
    """Return a slot for each replica of each task."""
    name, owner = name_of(workload), ("Job", name_of(workload))
    scheduler = str(nested(workload, "spec", "schedulerName") or "volcano")
    slots = []
    for number, task in enumerate(nested(workload, "spec", "tasks") or ()):
        task_name = str(task.get("name") or f"default{number}")
        template = task.get("template") or {}
        template = {**template, "spec": {"schedulerName": scheduler, **(template.get("spec") or {})}}
        replicas = 1 if (declared := whole(task, "replicas")) is None else declared
        for i in range(replicas):
            labels = {TASK_ANNOTATION: task_name, JOB_ANNOTATION: name}
            slots.append(slot(f"{task_name}-{i}", template, owner, labels))
    return Expansion(tuple(slots), Ending.TOGETHER, PodReplacement.SAME_NAME)
