"""One cycle over the snapshot of a large cluster, beside the time in which a loader alone reads the file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import BenchSize
from .live_objects import GANG, Object, gangs, nodes, setting
from .process import peak_mib, run

pytestmark = pytest.mark.bench

APPORTION = str(Path(sys.executable).with_name("apportion"))


def _objects(n_nodes: int, n_pods: int) -> Iterator[Object]:
    """Yield nodes, queues, and gangs of running pods, one gang after the other on each node."""
    n_seen = 0
    for _, made in chain(setting(), nodes(n_nodes), gangs(n_pods)):
        if made["kind"] == "Pod":
            made["metadata"]["uid"] = f"pod-{n_seen}"
            made["spec"]["nodeName"] = f"node-{n_seen // GANG % n_nodes:05}"
            made["status"] = {"phase": "Running"}
            n_seen += 1
        yield made


def _load_yaml(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def _dump_yaml(data: object) -> str:
    text: str = yaml.dump(data, Dumper=yaml.CSafeDumper)
    return text


@pytest.mark.parametrize(
    ("dump", "load", "n_nodes", "n_pods", "most"),
    [
        pytest.param(json.dumps, json.loads, 5_000, 40_000, 2.5, id="json"),
        pytest.param(_dump_yaml, _load_yaml, 1_000, 8_000, 3, id="yaml"),
    ],
)
def test_cycle_over_a_snapshot(
    dump: Callable[[object], str],
    load: Callable[[str], object],
    n_nodes: int,
    n_pods: int,
    most: float,
    bench_size: BenchSize,
    tmp_path: Path,
) -> None:
    size = (n_nodes, n_pods) if bench_size.judged else (20, 160)
    file = tmp_path / "snapshot"
    file.write_text(dump({"apiVersion": "v1", "kind": "List", "items": list(_objects(*size))}))
    text = file.read_text()
    began_s = time.process_time()
    load(text)
    loader_s = time.process_time() - began_s
    command = [APPORTION, "simulate", "--cycle", str(file), "--quiet"]
    done = run(command)
    assert done.returncode == 0
    print(
        f"\n{size[0]:,} nodes, {size[1]:,} pods, {len(text) / 1e6:.0f} MB: {done.cpu_s:.1f} s of CPU, the loader alone "
        f"{loader_s:.1f} s, ratio {done.cpu_s / loader_s:.2f}, peak {peak_mib(command):.0f} MiB"
    )
    if bench_size.judged:
        assert done.cpu_s / loader_s <= most
