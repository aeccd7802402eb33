"""The free resources of nodes while a random cluster is filled, so that its running pods fit."""

from __future__ import annotations

from typing import Any

_CORES = 20_000.0
_MEMORY = 20e9
_MAX_PODS = 110
_DEVICE_MEMORY = 100


class Room:
    """A node's free resources, in the units of a case. A device is shared or whole, never both."""

    def __init__(self, node: dict[str, Any]) -> None:
        self.name = node["name"]
        self.cpus = float(node.get("cpus", _CORES))
        self.memory = float(node.get("memory_bytes", _MEMORY))
        self.pods = int(node.get("max_pods", _MAX_PODS))
        self.mig = dict(node.get("mig_instances", {}))
        self.devices = 0 if node.get("mig_strategy") == "mixed" else int(node["gpus"])
        self.device_memory = int(node.get("gpu_memory_mib", _DEVICE_MEMORY))
        self.shared: dict[str, int] = {}

    def take(self, job: dict[str, Any], task: dict[str, Any]) -> bool:
        """Place a pod here and record it, or leave both unchanged if it does not fit."""
        cpus = 0.0 if job.get("best_effort") else job.get("cpus_per_task", 1.0)
        memory = 0.0 if job.get("best_effort") else job.get("memory_bytes_per_task", 1e9)
        if self.cpus < cpus or self.memory < memory or self.pods < 1 or not self._take_gpus(job, task):
            return False
        self.cpus -= cpus
        self.memory -= memory
        self.pods -= 1
        task["node"] = self.name
        return True

    def _take_gpus(self, job: dict[str, Any], task: dict[str, Any]) -> bool:
        instances = task.get("mig_instances", {})
        if instances:
            if any(self.mig.get(profile, 0) < n for profile, n in instances.items()):
                return False
            for profile, n in instances.items():
                self.mig[profile] -= n
            return True
        asked = job["gpus_per_task"]
        part = job.get("gpu_memory_mib_per_task") or (int(asked * self.device_memory) if asked != int(asked) else 0)
        if part:
            return self._share(part, job.get("gpu_fraction_devices_per_task", 1), task)
        if self.mig and asked:
            return False
        if self.devices < asked:
            return False
        self.devices -= int(asked)
        return True

    def _share(self, part: int, n_devices: int, task: dict[str, Any]) -> bool:
        roomy = [group for group, used in sorted(self.shared.items()) if used + part <= self.device_memory]
        n_fresh = max(0, n_devices - len(roomy))
        if part > self.device_memory or n_fresh > self.devices or self.mig:
            return False
        fresh = [f"{self.name}-gpu-{len(self.shared) + n}" for n in range(n_fresh)]
        self.devices -= n_fresh
        groups = [*roomy[: n_devices - n_fresh], *fresh]
        for group in groups:
            self.shared[group] = self.shared.get(group, 0) + part
        task["gpu_groups"] = groups
        return True
