"""Resources of cloud providers' machine types, as far as the type's name or the provider's list determines them.

Used for two purposes: a pool with other GPUs than its machines have would overstate its capacity, and limits of node
auto-provisioning count whole machines. Memory is in GB, as both providers write it.

Source: cloud.google.com/compute/docs/gpus and /general-purpose-machines; docs.aws.amazon.com, EC2 instance types,
accelerated computing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: virtual cores, memory in GB, GPUs, and the provider's name for the GPU."""

    cores: int
    memory_gb: int
    n_gpus: int = 0
    accelerator: str | None = None


GKE_MACHINES: Mapping[str, Machine] = {
    "a2-highgpu-1g": Machine(12, 85, 1, "nvidia-tesla-a100"),
    "a2-highgpu-2g": Machine(24, 170, 2, "nvidia-tesla-a100"),
    "a2-highgpu-4g": Machine(48, 340, 4, "nvidia-tesla-a100"),
    "a2-highgpu-8g": Machine(96, 680, 8, "nvidia-tesla-a100"),
    "a2-megagpu-16g": Machine(96, 1360, 16, "nvidia-tesla-a100"),
    "a2-ultragpu-1g": Machine(12, 170, 1, "nvidia-a100-80gb"),
    "a2-ultragpu-2g": Machine(24, 340, 2, "nvidia-a100-80gb"),
    "a2-ultragpu-4g": Machine(48, 680, 4, "nvidia-a100-80gb"),
    "a2-ultragpu-8g": Machine(96, 1360, 8, "nvidia-a100-80gb"),
    "a3-highgpu-1g": Machine(26, 234, 1, "nvidia-h100-80gb"),
    "a3-highgpu-2g": Machine(52, 468, 2, "nvidia-h100-80gb"),
    "a3-highgpu-4g": Machine(104, 936, 4, "nvidia-h100-80gb"),
    "a3-highgpu-8g": Machine(208, 1872, 8, "nvidia-h100-80gb"),
    "a3-megagpu-8g": Machine(208, 1872, 8, "nvidia-h100-mega-80gb"),
    "a3-ultragpu-8g": Machine(224, 2952, 8, "nvidia-h200-141gb"),
    "a4-highgpu-8g": Machine(224, 3968, 8, "nvidia-b200"),
    "g2-standard-4": Machine(4, 16, 1, "nvidia-l4"),
    "g2-standard-8": Machine(8, 32, 1, "nvidia-l4"),
    "g2-standard-12": Machine(12, 48, 1, "nvidia-l4"),
    "g2-standard-16": Machine(16, 64, 1, "nvidia-l4"),
    "g2-standard-24": Machine(24, 96, 2, "nvidia-l4"),
    "g2-standard-32": Machine(32, 128, 1, "nvidia-l4"),
    "g2-standard-48": Machine(48, 192, 4, "nvidia-l4"),
    "g2-standard-96": Machine(96, 384, 8, "nvidia-l4"),
}

AWS_MACHINES: Mapping[str, Machine] = {
    "g5.xlarge": Machine(4, 16, 1, "a10g"),
    "g5.2xlarge": Machine(8, 32, 1, "a10g"),
    "g5.4xlarge": Machine(16, 64, 1, "a10g"),
    "g5.8xlarge": Machine(32, 128, 1, "a10g"),
    "g5.12xlarge": Machine(48, 192, 4, "a10g"),
    "g5.16xlarge": Machine(64, 256, 1, "a10g"),
    "g5.24xlarge": Machine(96, 384, 4, "a10g"),
    "g5.48xlarge": Machine(192, 768, 8, "a10g"),
    "g6.xlarge": Machine(4, 16, 1, "l4"),
    "g6.2xlarge": Machine(8, 32, 1, "l4"),
    "g6.4xlarge": Machine(16, 64, 1, "l4"),
    "g6.8xlarge": Machine(32, 128, 1, "l4"),
    "g6.12xlarge": Machine(48, 192, 4, "l4"),
    "g6.16xlarge": Machine(64, 256, 1, "l4"),
    "g6.24xlarge": Machine(96, 384, 4, "l4"),
    "g6.48xlarge": Machine(192, 768, 8, "l4"),
    "p3.2xlarge": Machine(8, 61, 1, "v100"),
    "p3.8xlarge": Machine(32, 244, 4, "v100"),
    "p3.16xlarge": Machine(64, 488, 8, "v100"),
    "p4d.24xlarge": Machine(96, 1152, 8, "a100"),
    "p4de.24xlarge": Machine(96, 1152, 8, "a100"),
    "p5.48xlarge": Machine(192, 2048, 8, "h100"),
    "p5e.48xlarge": Machine(192, 2048, 8, "h200"),
    "p5en.48xlarge": Machine(192, 2048, 8, "h200"),
    "p6-b200.48xlarge": Machine(192, 2048, 8, "b200"),
}

_GKE_GENERAL = re.compile(r"(?:c2|c2d|c3|c3d|c4|e2|n2|n2d|n4|t2d)-(standard|highmem|highcpu)-([1-9][0-9]{0,3})")
_GB_PER_CORE = {"standard": 4, "highmem": 8, "highcpu": 2}
"""Upper bounds: some families have less in `highcpu`, but a limit that is too high rejects no machine."""


def gke_machine(machine_type: str) -> Machine | None:
    """Return the resources of a Compute Engine machine; None if neither its name nor the list determines them."""
    listed = GKE_MACHINES.get(machine_type)
    general = _GKE_GENERAL.fullmatch(machine_type)
    if listed is not None or general is None:
        return listed
    cores = int(general[2])
    return Machine(cores, cores * _GB_PER_CORE[general[1]])
