"""KubeSchedulerConfiguration: bin-pack or spread, where one may configure kube-scheduler.

A file for the scheduler's `--config`, not an object: a managed control plane takes none. Only in-tree plugins are
named, since an unknown name keeps kube-scheduler from starting.
"""

from __future__ import annotations

import yaml

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.native.quotas import GPU_RESOURCE
from apportion_compiler.ir.program import Program

DEFAULT_SCHEDULER = "default-scheduler"
_SCORING = {"binpack": "MostAllocated", "spread": "LeastAllocated"}
_GPU_WEIGHT = 100
"""The largest that a resource may have: a free core beside a free GPU shall not decide."""


def scheduler_configuration(program: Program) -> Artifact:
    """Return the file. GPU and CPU work share one scoring of nodes; it is that of GPU work."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": DEFAULT_SCHEDULER,
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {
                                "type": _SCORING[program.gpu_placement],
                                "resources": [
                                    {"name": GPU_RESOURCE, "weight": _GPU_WEIGHT},
                                    {"name": "cpu", "weight": 1},
                                    {"name": "memory", "weight": 1},
                                ],
                            }
                        },
                    }
                ],
            }
        ],
    }
    header = (
        "# For kube-scheduler's --config, where the control plane is yours.\n"
        f"# Source: {program.source.file}:{program.source.line}\n"
    )
    return Artifact("kube-scheduler.yaml", header + yaml.safe_dump(configuration, sort_keys=False, width=120))
