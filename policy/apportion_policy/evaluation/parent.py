"""Start the evaluation of a policy in a child process, and parse its response as untrusted input.

The caller starts it first, and imports its own modules while the child runs. Nothing that the child sends is ever
executed: a response is JSON with a limited size and a validated structure.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from apportion_policy.evaluation.child_process import ChildProcess
from apportion_policy.evaluation.confinement_layers import SCRUBBED_ENVIRONMENT, missing_layers
from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
from apportion_policy.evaluation.tree import EntryError, PolicyTree, locate

_PROGRAM = str(Path(__file__).with_name("__main__.py"))
# The interpreter finds its shared library or home by these; they are the caller's, not the pull request's.
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "TZ": "UTC",
}


class RunningEvaluation:
    """A running evaluation. End it with `result` or `cancel`; in any case, the child ends with this process."""

    def __init__(self, begun: ChildProcess | Rejected, tree: PolicyTree | None, limits: Limits) -> None:
        self._begun = begun
        self._tree = tree
        self._limits = limits
        self._result: EvaluatedPolicy | Rejected | None = begun if isinstance(begun, Rejected) else None
        self._has_ended = isinstance(begun, Rejected)

    def result(self) -> EvaluatedPolicy | Rejected:
        """Wait until the time limit at most, and return the outcome. Repeated calls return the same outcome.

        Raises:
            ConfinementError: If the policy did not run because this system cannot confine it.
        """
        if self._result is None:
            from apportion_policy.evaluation.outcome import outcome_of
            from apportion_policy.evaluation.supervision import supervise

            assert isinstance(self._begun, ChildProcess)
            assert self._tree is not None
            ended = supervise(self._begun, self._limits)
            self._has_ended = True
            self._result = outcome_of(ended, self._tree, self._limits)
        return self._result

    def cancel(self) -> None:
        """Kill the child if it is still running."""
        if not self._has_ended and isinstance(self._begun, ChildProcess):
            from apportion_policy.evaluation.supervision import end

            end(self._begun)
            self._has_ended = True
            self._result = Rejected((Fault("evaluation-crashed", "the evaluation was cancelled"),))


def start(entry: str | Path, limits: Limits = Limits()) -> RunningEvaluation:  # noqa: B008 - frozen.
    """Start the evaluation of a policy.

    Faults of the policy never raise an exception, but are in the result. `result` raises an error if the system cannot
    confine the policy. On Linux, the child ends with the calling thread.

    Args:
        entry: A Python file, `file.py:name`, a YAML or JSON document, or a folder with `policy.py` or `policy.yaml`.
        limits: Limits of the evaluation.
    """
    try:
        tree = locate(entry)
    except EntryError as wrong:
        return RunningEvaluation(Rejected((wrong.fault,)), None, limits)
    try:
        return RunningEvaluation(_spawn(tree, limits), tree, limits)
    except OSError as refused:
        message = f"the child process could not be started: {refused.strerror or refused}"
        return RunningEvaluation(Rejected((Fault("evaluation-crashed", message),), tree=tree), tree, limits)


def _required(limits: Limits) -> tuple[str, ...]:
    """Return the names of the layers that the child must activate before it runs the policy."""
    # Layers that this process applies to the child need no activation there.
    needed = missing_layers((SCRUBBED_ENVIRONMENT.name,))
    return () if limits.allow_missing_layers else tuple(layer.name for layer in needed)


def _spawn(tree: PolicyTree, limits: Limits) -> ChildProcess:
    """Start a new interpreter, which inherits neither memory nor environment of this process."""
    opened: list[int] = []
    try:
        for _ in range(3):
            opened += os.pipe()
        answer, answer_to, trace, trace_to, prints, prints_to = opened
        # Higher than every descriptor that is copied, so that no copy overwrites the source of a later one.
        first = max(opened) + 1
        child_answer, child_trace, child_prints = first, first + 1, first + 2
        arguments = [
            sys.executable,
            "-P",
            _PROGRAM,
            *map(str, (child_answer, child_trace, os.getpid())),
            *(tree.root, tree.entry, tree.attribute or "", ",".join(_required(limits))),
            *limits.to_arguments(),
        ]
        actions = [
            (os.POSIX_SPAWN_DUP2, answer_to, child_answer),
            (os.POSIX_SPAWN_DUP2, trace_to, child_trace),
            (os.POSIX_SPAWN_DUP2, prints_to, child_prints),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, child_prints, 1),
            (os.POSIX_SPAWN_DUP2, child_prints, 2),
            (os.POSIX_SPAWN_CLOSE, child_prints),
        ]
        environment = _ENVIRONMENT | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        started_s = time.monotonic()
        try:
            process_id = os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setsid=True)
        except NotImplementedError:
            # Python raises it only for `setsid`, if the C library has no POSIX_SPAWN_SETSID, which POSIX added in 2024. A
            # process group can be stopped as a whole as well as a session.
            process_id = os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setpgroup=0)
    except BaseException:
        for descriptor in opened:
            os.close(descriptor)
        raise
    for descriptor in (answer_to, trace_to, prints_to):
        os.close(descriptor)
    return ChildProcess(process_id, answer, trace, prints, started_s)
