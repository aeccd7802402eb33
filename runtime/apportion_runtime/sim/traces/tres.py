"""Slurm's trackable resources (`billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1`) as equivalent pods.

Amounts are for a whole job. Source: sacct(1), slurm.conf(5) AccountingStorageTRES, at Slurm 25.11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from apportion_runtime.sim.traces.rows import MOST_AT_ONCE, BadRow

_GPU, _GRES = "gres/gpu", "gres/"
_MEMORY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([KMGTP]?)", re.ASCII)
_IN_MIB = {"K": Fraction(1, 1024), "": Fraction(1), "M": Fraction(1), "G": Fraction(1024), "T": Fraction(1024**2)}
_IN_MIB["P"] = Fraction(1024**3)
_AS_THEY_ARE = "run sacct with --noconvert, and with columns wide enough for AllocTRES and ReqTRES"


@dataclass(frozen=True, slots=True)
class Shape:
    """`n_pods` pods, each with a number of devices in thousandths; `model` is Slurm's GPU type."""

    n_pods: int
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    model: str


def shape_of(text: str, shares_per_gpu: Mapping[str, int]) -> Shape:
    """Return the pods of a job: one for each node, or one for each GPU if GPUs cannot be divided evenly among nodes.

    Args:
        text: The resources.
        shares_per_gpu: The number of units per device, by name of the shared resource (`shard`, `mps`).

    Raises:
        BadRow: If they are invalid.
    """
    amounts = _amounts(text)
    if "cpu" not in amounts:
        raise BadRow(f"`{text}` has no cpu entry", _AS_THEY_ARE)
    n_nodes = max(1, _whole(amounts, "node"))
    gpus, model = _gpus(amounts)
    gpu_milli = 1000
    if not gpus:
        gpus, gpu_milli = _shares(amounts, n_nodes, shares_per_gpu)
    n_pods = n_nodes if gpus % n_nodes == 0 else gpus
    if n_pods > MOST_AT_ONCE:
        raise BadRow(f"`{text}` requests {n_pods} nodes", f"correct the value; the maximum is {MOST_AT_ONCE}")
    cpu_milli, memory_mib = _whole(amounts, "cpu") * 1000, _memory_mib(amounts.get("mem", "0"))
    return Shape(n_pods, -(-cpu_milli // n_pods), -(-memory_mib // n_pods), gpus // n_pods, gpu_milli, model)


def _amounts(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, amount = part.strip().partition("=")
        if not equals or name in found:
            raise BadRow(f"`{text}` is not a list of resources such as cpu=8,gres/gpu=2,mem=64G,node=1", _AS_THEY_ARE)
        found[name] = amount
    return found


def _whole(amounts: Mapping[str, str], name: str) -> int:
    text = amounts.get(name, "0")
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise BadRow(f"{name} `{text}` is not an integer", _AS_THEY_ARE)
    return int(text)


def _memory_mib(text: str) -> int:
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise BadRow(f"mem `{text}` is not an amount of memory", _AS_THEY_ARE)
    mib = Fraction(match[1]) * _IN_MIB[match[2]]
    return -(-mib.numerator // mib.denominator)


def _gpus(amounts: Mapping[str, str]) -> tuple[int, str]:
    """Return the devices and their type: the total includes devices counted by type, if both are listed."""
    typed = {name[len(_GPU) + 1 :]: _whole(amounts, name) for name in amounts if name.startswith(f"{_GPU}:")}
    types = [model for model, count in typed.items() if count]
    if len(types) > 1:
        raise BadRow(f"the job has {len(types)} types of GPU: {' and '.join(types)}", "use one row per type")
    return max(_whole(amounts, _GPU), sum(typed.values())), types[0] if types else ""


def _shares(amounts: Mapping[str, str], n_nodes: int, shares_per_gpu: Mapping[str, int]) -> tuple[int, int]:
    """Return the number of shared devices of a job on its nodes, and the thousandths of each; one kind at most."""
    for kind in ("shard", "mps"):
        asked = -(-_whole(amounts, _GRES + kind) // n_nodes)
        if not asked:
            continue
        whole = shares_per_gpu.get(kind, 0)
        if whole <= 0:
            raise BadRow(f"the rules do not define how many {_GRES}{kind} equal one GPU", "add the number to the rules")
        devices = -(-asked // whole)
        return devices * n_nodes, -(-asked * 1000 // (whole * devices))
    return 0, 1000
