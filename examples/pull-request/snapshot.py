"""Writes snapshot.json: the objects of the cluster at 09:00 that a review reads, as printed by `kubectl get … -o json`."""

import json
from pathlib import Path

GROUPS = (
    # name, queue, priority class, pods, GPUs per pod, first node, hour of its start (None: pending since 08:30)
    ("chat-api", "inference", "serving", 2, 4, 0, 1),
    ("detector", "vision", "training", 2, 4, 1, 2),
    ("tracker", "vision", "training", 2, 4, 2, 6),
    ("asr-large", "speech", "training", 2, 4, 3, 4),
    ("tts-multilingual", "speech", "training", 2, 4, None, None),
    ("night-evaluation", "vision", "nightly", 1, 8, None, None),
)
VALUES = {"serving": 125, "training": 60, "nightly": 40}


def node(number):
    held = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    labels = {"nvidia.com/gpu.count": "8", "apportion.dev/gpu-model": "h100", "apportion.dev/node-pool": "h100"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"gpu-{number}", "labels": labels},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": held,
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-23T09:00:00Z"}],
        },
    }


def objects(group):
    name, queue, cls, n_pods, gpus, first_node, hour = group
    made = f"2026-11-23T0{hour}:00:00Z" if hour else "2026-11-23T08:30:00Z"
    yield {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": f"pg-{name}",
            "namespace": queue,
            "creationTimestamp": made,
            "annotations": {"kai.scheduler/last-start-timestamp": made} if hour else {},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name}],
        },
        "spec": {"queue": queue, "minMember": n_pods, "priorityClassName": cls},
    }
    for number in range(n_pods):
        requests = {"nvidia.com/gpu": str(gpus), "cpu": "8"}
        spec = {
            "schedulerName": "kai-scheduler",
            "priorityClassName": cls,
            "priority": VALUES[cls],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        }
        status = {"phase": "Pending"}
        if hour:
            spec["nodeName"] = f"gpu-{first_node}"
            status = {"phase": "Running", "startTime": made}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{number}",
                "namespace": queue,
                "uid": f"{name}-{number}",
                "creationTimestamp": made,
                "annotations": {"pod-group-name": f"pg-{name}"},
            },
            "spec": spec,
            "status": status,
        }


if __name__ == "__main__":
    items = [node(number) for number in range(4)]
    items += [made for group in GROUPS for made in objects(group)]
    document = {"apiVersion": "v1", "kind": "List", "items": items}
    Path(__file__).with_name("snapshot.json").write_text(json.dumps(document, indent=1) + "\n")
