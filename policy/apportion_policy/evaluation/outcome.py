"""Convert the result of a child process to the outcome for the caller."""

from __future__ import annotations

import signal
from dataclasses import replace

from apportion_policy.errors import ConfinementError
from apportion_policy.evaluation.answer import Answer, AnswerError, read_answer, read_layers
from apportion_policy.evaluation.confinement_layers import SCRUBBED_ENVIRONMENT, RaisedLayers, missing_layers
from apportion_policy.evaluation.crash_trace import innermost_frame
from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.limits import MIB, PRINTS_KEPT_BYTES, Limits
from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
from apportion_policy.evaluation.sanitized_text import plain_text
from apportion_policy.evaluation.supervision import EndedChild, ExitReason
from apportion_policy.evaluation.tree import PolicyTree


def outcome_of(ended: EndedChild, tree: PolicyTree, limits: Limits) -> EvaluatedPolicy | Rejected:
    """Return the policy as data, or the faults, of an ended child process.

    Raises:
        ConfinementError: If the child could not be confined, and so did not run the policy.
    """
    raised = _raised(ended)
    layers = (SCRUBBED_ENVIRONMENT.name, *(plain_text(name, 40) for name in raised.active))
    if b"\n" in ended.answer:
        _require(raised, layers, limits)
    printed = _printed(ended.prints)
    fault = None
    if ended.ending is not ExitReason.ANSWERED:
        fault = _fault_of_ending(ended, tree, limits)
    else:
        try:
            answer = read_answer(ended.answer)
        except AnswerError as malformed:
            fault = Fault(
                "evaluation-crashed", f"the policy corrupted the result of its evaluation: {malformed}", tree.entry
            )
        else:
            if answer.faults:
                return Rejected(tuple(_shown(each, tree) for each in answer.faults), layers, printed, tree)
            return _evaluated(answer, layers, printed, tree)
    return Rejected((fault,), layers, printed, tree)


def _evaluated(answer: Answer, layers: tuple[str, ...], printed: str, tree: PolicyTree) -> EvaluatedPolicy:
    others = dict.fromkeys(file for file in answer.files if file != tree.entry and tree.contains(file))
    return EvaluatedPolicy(answer.document, (tree.entry, *others), layers, printed, tree)


def _raised(ended: EndedChild) -> RaisedLayers:
    try:
        return read_layers(ended.answer) or RaisedLayers()
    except AnswerError:
        return RaisedLayers()


def _require(raised: RaisedLayers, layers: tuple[str, ...], limits: Limits) -> None:
    if raised.failed is not None:
        name, reason = raised.failed
        raise ConfinementError(
            f"the policy was not evaluated: `{name}` could not be enabled ({reason})",
            "run `apportion doctor` to check all layers; this system supports the layer, so it cannot be skipped",
        )
    missing = missing_layers(layers)
    if missing and not limits.allow_missing_layers:
        reasons = dict(raised.absent)
        lacking = ", ".join(f"`{layer.name}` ({reasons.get(layer.name, 'not raised')})" for layer in missing)
        raise ConfinementError(
            f"the policy was not evaluated: this system lacks {lacking}",
            "evaluate it on a system that meets the requirements in docs/security.md, or pass --allow-missing-layers if "
            "every file in the policy has been reviewed",
        )


def _fault_of_ending(ended: EndedChild, tree: PolicyTree, limits: Limits) -> Fault:
    fault = _explanation(ended, tree, limits)
    place = innermost_frame(ended.trace, tree)
    if place is not None:
        return replace(fault, file=place[0], line=place[1])
    return replace(fault, file=tree.entry)


def _explanation(ended: EndedChild, tree: PolicyTree, limits: Limits) -> Fault:
    time_hint = "look for an infinite loop"
    match ended.ending:
        case ExitReason.ANSWER_TOO_LARGE:
            return Fault("output-too-large", f"the serialized policy is larger than {limits.output_bytes} bytes")
        case ExitReason.PRINTS_TOO_LARGE:
            return Fault("output-too-large", f"the policy printed more than {limits.print_bytes} bytes")
        case ExitReason.CUT_OFF:
            return Fault("evaluation-crashed", "the policy closed the pipes used to evaluate it")
        case ExitReason.PROCESSOR_TIME:
            return _processor_fault(limits)
        case ExitReason.TIME_LIMIT if ended.cpu_s >= limits.cpu_s:
            return _processor_fault(limits)
        case ExitReason.TIME_LIMIT:
            message = f"the policy was not evaluated within {limits.wall_s:g} s"
            return Fault("time-limit", message, hint=time_hint)
        case _:
            return _death(ended, tree, limits)


def _death(ended: EndedChild, tree: PolicyTree, limits: Limits) -> Fault:
    if _could_not_start(ended):
        last = _printed(ended.prints).strip().rpartition("\n")[2] or f"exit status {ended.status}"
        message = f"the process that evaluates the policy could not be started: {last}"
        return Fault("evaluation-crashed", message, hint="run `apportion doctor` to check the installation")
    if ended.status >= 0:
        message = f"the policy ended its own process (exit status {ended.status}) before it was evaluated"
        return Fault("evaluation-crashed", message)
    if ended.cpu_s >= limits.cpu_s and -ended.status in (signal.SIGKILL, signal.SIGXCPU):
        return _processor_fault(limits)
    if -ended.status == signal.SIGKILL:
        return Fault("memory-limit", "the policy's process was killed, probably because the machine ran out of memory")
    # This is how native code of the model ends if an allocation fails.
    if -ended.status == signal.SIGABRT and b"memory allocation of" in ended.prints:
        return Fault("memory-limit", f"the policy requires more than {limits.memory_bytes // MIB} MiB of memory")
    if -ended.status == signal.SIGSYS:
        return Fault("sandbox-violation", "this policy tried to make a system call for a different architecture")
    if -ended.status == signal.SIGSEGV and not tree.is_python:
        # The YAML parser, in C, is recursive.
        return Fault("malformed-document", "the document is nested too deeply")
    name = _signal_name(-ended.status)
    hint = "look for deep recursion in native code" if name == "SIGSEGV" else None
    return Fault("evaluation-crashed", f"the interpreter crashed while it ran the policy ({name})", hint=hint)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # Only the first and the last real-time signal have names.


def _could_not_start(ended: EndedChild) -> bool:
    return b"\n" not in ended.answer


def _processor_fault(limits: Limits) -> Fault:
    message = f"the policy used more than {limits.cpu_s} s of CPU time"
    return Fault("time-limit", message, hint="look for an infinite loop")


def _shown(fault: Fault, tree: PolicyTree) -> Fault:
    """Return the fault without places that must not be quoted: a policy may claim any file as its location."""
    related = tuple(place for place in fault.related if tree.contains(place[0]))
    if fault.file is not None and tree.contains(fault.file):
        return replace(fault, related=related)
    return replace(fault.without_place(), file=tree.entry, related=related)


def _printed(prints: bytes) -> str:
    cut = "\n(output truncated)" if len(prints) >= PRINTS_KEPT_BYTES else ""
    lines = prints.decode("utf-8", "replace").splitlines()
    return "\n".join(plain_text(line) for line in lines) + cut
