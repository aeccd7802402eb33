"""The program of a stack of many queues, run once against the mocks of Pulumi's runtime; prints what it cost as JSON.

`own` is what the program spends in reading, compiling, planning and registering, the policy's child process included.
The SDK turns every registration into messages for the engine; that is `sdk`, and the engine's time is in neither.
"""

from __future__ import annotations

import json
import resource
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from apportion_compiler.emit.pulumi import program


def _stack_runs() -> Any:
    file = Path(__file__).parents[1] / "unit" / "pulumi" / "stack_runs.py"
    spec = spec_from_file_location("stack_runs", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["stack_runs"] = module
    spec.loader.exec_module(module)
    return module


def _cpu_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(folder: Path) -> None:
    """Run the stack of the policy in a folder."""
    runs = _stack_runs()
    before = _cpu_s()
    spent: list[float] = []
    inner = program._run

    def timed(*arguments: Any, **options: Any) -> None:
        began = _cpu_s()
        inner(*arguments, **options)
        spent.append(_cpu_s() - began)

    program._run = timed
    run = runs.run_stack(folder, {"policy": "policy.py", "environment": "prod"})
    total = _cpu_s() - before
    print(json.dumps({"own_s": spent[0], "sdk_s": total - spent[0], "resources": len(run.registered)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
