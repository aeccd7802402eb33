"""Evaluate one policy in this process, which serves no other purpose.

The process imports the model, confines itself, runs the author's code, writes the response and exits without running
exit handlers of the author. `parent` starts it, through `__main__`; `sandbox` implements the confinement.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from apportion_policy.declaration import AuthoringFault, collecting_faults, recording_declarations
from apportion_policy.evaluation import answer
from apportion_policy.evaluation.audit import AuditTrail
from apportion_policy.evaluation.entry_point import load_entry
from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.fault_location import MAX_FAULTS, fault_of_declaration, faults_of
from apportion_policy.evaluation.limits import MIB, Limits
from apportion_policy.evaluation.read_access import readable_paths
from apportion_policy.evaluation.sandbox import confine, find_kernel_layers, is_enough
from apportion_policy.evaluation.source_importer import import_from_source_only
from apportion_policy.evaluation.tree import PolicyTree, is_within
from apportion_policy.unused_declarations import unused_declarations
from apportion_policy.wire import MAX_VALUES, dump, n_values

_RESERVE_BYTES = 24 * MIB
_COLLECT_AFTER_ALLOCATIONS = 200_000


def main(arguments: Sequence[str]) -> None:
    """Evaluate the policy, write the response and end the process.

    Args:
        arguments: The file descriptors of the response and of the emergency traceback, the parent's process id, the
            policy's root, its entry, the attribute or empty text, the required layers (names separated by commas), then
            the limits.
    """
    answer_to, trace_to, parent = (int(argument) for argument in arguments[:3])
    root, entry, attribute = arguments[3:6]
    tree, limits = PolicyTree(root, entry, attribute or None), Limits.from_arguments(tuple(arguments[7:]))
    required = [name for name in arguments[6].split(",") if name]
    if not tree.is_python:
        # Resolved while its libraries are still readable.
        importlib.import_module("apportion_policy.documents")
    kernel_layers = find_kernel_layers(parent)
    sys.dont_write_bytecode = True
    os.chdir(tree.root)
    _report_emergencies(trace_to)
    import_from_source_only(tree.root, source_bytes=limits.source_bytes)
    # A policy is short-lived and creates few cycles; collecting the objects of imports would waste time.
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER_ALLOCATIONS)
    raised, trail = confine(readable_paths(tree.root), limits, root=tree.root, kernel_layers=kernel_layers)
    _write(answer_to, answer.layers_line(raised))
    if not is_enough(raised, required):
        os._exit(0)
    try:
        faults, document = _evaluate(tree, limits, trail)
        _flush_prints()
        _write(answer_to, answer.outcome(faults=faults, files=tuple(trail.files_read), document=document))
    except BaseException:  # noqa: BLE001 - the policy may have replaced whatever these call.
        os._exit(1)
    os._exit(0)


def _evaluate(tree: PolicyTree, limits: Limits, trail: AuditTrail) -> tuple[tuple[Fault, ...], bytes]:
    """Return the faults, or an empty list and the policy as data."""
    reserve = [bytes(_RESERVE_BYTES)]
    refused: list[AuthoringFault] = []
    document = b""
    try:
        with collecting_faults() as refused, recording_declarations() as record:
            policy = load_entry(tree, record)
            # Later errors of an unvalidated object are consequences, not separate faults.
            if not refused:
                document = dump(policy, (o for o in unused_declarations(record) if is_within(o.source.file, tree.root)))
    except BaseException as error:  # noqa: BLE001 - the author's code may raise anything.
        # Freed when memory runs out, to leave enough for the error report.
        reserve.clear()
        if not refused:
            return _describe(error, tree, limits, trail), b""
    if refused:
        # A loop repeats the same mistake many times; it is reported once per line.
        different = dict.fromkeys(fault_of_declaration(fault) for fault in refused)
        return tuple(different)[:MAX_FAULTS], b""
    if n_values(document) > MAX_VALUES:
        message = f"the evaluated policy has more than {MAX_VALUES} values"
        return (Fault("output-too-large", message, tree.entry),), b""
    if len(document) > limits.output_bytes:
        message = f"the serialized policy is {len(document)} bytes long; the limit is {limits.output_bytes}"
        return (Fault("output-too-large", message, tree.entry),), b""
    return (), document


def _describe(error: BaseException, tree: PolicyTree, limits: Limits, trail: AuditTrail) -> tuple[Fault, ...]:
    try:
        return faults_of(error, sys.exc_info()[2], tree, limits, refused=trail.refused)
    except BaseException:  # noqa: BLE001 - an exception may be built so that looking at it raises.
        return (Fault("policy-exception", "the policy raised an exception that cannot be shown", tree.entry),)


def _report_emergencies(trace_to: int) -> None:
    """Report the line of a crash, of the end of processor time and of the parent's alarm, even in a loop in C."""
    faulthandler.enable(trace_to, all_threads=False)
    for warning in (signal.SIGALRM, signal.SIGXCPU):
        faulthandler.register(warning, trace_to, all_threads=False)


def _flush_prints() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001, S112 - the policy may have put anything in its place.
            continue


def _write(descriptor: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
