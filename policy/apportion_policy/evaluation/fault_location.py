"""Convert an exception in a policy to a fault at the author's line.

The policy controls everything about the exception, including its `__str__`, so each step is bounded and does not trust
the types of results.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import TracebackType

from pydantic import ValidationError

from apportion_policy.declaration import AuthoringFault
from apportion_policy.errors import ApportionPolicyError, DocumentFault
from apportion_policy.evaluation.audit import SandboxViolationError
from apportion_policy.evaluation.fault import Fault, RelatedPlace
from apportion_policy.evaluation.limits import MIB, Limits
from apportion_policy.evaluation.sanitized_text import MAX_MESSAGE_CHARACTERS
from apportion_policy.evaluation.source_importer import RefusedSourceError
from apportion_policy.evaluation.tree import PolicyTree, is_within
from apportion_policy.refused_values import refused_values

MAX_FAULTS = 1_000
_MAX_CHAIN = 10
_MAX_CAUSES = 20

_Frame = tuple[str, int, str]


class PolicyNotFoundError(Exception):
    """The file declares no policy, or more than one; has the fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def faults_of(
    error: BaseException,
    trace: TracebackType | None,
    tree: PolicyTree,
    limits: Limits,
    *,
    refused: Sequence[str] = (),
) -> tuple[Fault, ...]:
    """Return the faults for an exception that the policy raised.

    Args:
        error: The exception.
        trace: Its traceback.
        tree: Identifies the author's frames.
        limits: The limits, for messages.
        refused: Operations that the sandbox denied earlier without ending the policy; often the actual cause.
    """
    frames = _author_frames(trace, tree)
    if isinstance(error, PolicyNotFoundError):
        return (error.fault,)
    if isinstance(error, RefusedSourceError):
        return (_with_chain(error.fault, frames),)
    if isinstance(error, ValidationError):
        return tuple(
            _at(frames, tree, Fault("invalid-value", f"{error.title}: {_path(wrong.path)}{wrong.message}"))
            for wrong in refused_values(error, None, None)[:MAX_FAULTS]
        )
    faults = error.faults if isinstance(error, DocumentFault) else (_single_fault(error, frames, tree, limits),)
    if refused and len(faults) == 1 and faults[0].hint is None:
        return (replace(faults[0], hint=f"earlier sandbox violation: {refused[-1]}"),)
    return faults[:MAX_FAULTS]


def fault_of_declaration(fault: AuthoringFault) -> Fault:
    """Return the fault of a constructor that rejected its arguments."""
    source = fault.source
    return Fault(
        "invalid-value",
        f"{fault.declaration}: {_path(fault.path)}{fault.message}",
        source.file,
        source.line,
        source.column,
        related=tuple((call.file, call.line, "called from here") for call in source.callers),
    )


def _single_fault(error: BaseException, frames: list[_Frame], tree: PolicyTree, limits: Limits) -> Fault:
    if isinstance(error, SyntaxError) and isinstance(error.filename, str) and is_within(error.filename, tree.root):
        return _syntax_fault(error, frames)
    violation = _violation(error)
    if violation is not None:
        return _at(
            frames,
            tree,
            Fault("sandbox-violation", violation, hint="use only the operations listed in docs/security.md"),
        )
    if isinstance(error, MemoryError):
        message = f"the policy needs more than {limits.memory_bytes // MIB} MiB of memory"
        return _at(frames, tree, Fault("memory-limit", message))
    if isinstance(error, ImportError):
        return _at(frames, tree, _import_fault(error, tree))
    if isinstance(error, ApportionPolicyError):
        return _at(frames, tree, Fault("invalid-value", _text_of(error)))
    if isinstance(error, SystemExit):
        return _at(
            frames, tree, Fault("policy-exception", "the policy raised SystemExit, for example by calling sys.exit()")
        )
    text = _text_of(error)
    name = _name_of(error)
    return _at(frames, tree, Fault("policy-exception", f"{name}: {text}" if text else name))


def _syntax_fault(error: SyntaxError, frames: list[_Frame]) -> Fault:
    line = error.lineno if isinstance(error.lineno, int) and error.lineno > 0 else None
    column = error.offset - 1 if isinstance(error.offset, int) and error.offset > 0 else None
    return _with_chain(Fault("syntax-error", str(error.msg), error.filename, line, column), frames)


def _import_fault(error: ImportError, tree: PolicyTree) -> Fault:
    name = error.name if isinstance(error.name, str) else ""
    if isinstance(error, ModuleNotFoundError) and name:
        top = name.partition(".")[0]
        if (hint := _package_hint(tree)) is not None:
            return Fault("missing-import", f"no module named `{name}`", hint=hint)
        hint = f"install {top} alongside apportion, or add {top}.py next to {os.path.basename(tree.entry)}"  # noqa: PTH119
        return Fault("missing-import", f"no module named `{name}`", hint=hint)
    if name in sys.stdlib_module_names and tree.contains(f"{tree.root}/{name}.py"):
        message = f"`import {name}` imports the standard library module, not the policy's {name}.py"
        return Fault("missing-import", message, hint=f"rename {name}.py")
    return Fault("missing-import", _text_of(error), hint=_package_hint(tree))


def _package_hint(tree: PolicyTree) -> str | None:
    """Return why a package is not found if the entry is inside one."""
    folder = os.path.dirname(tree.entry)  # noqa: PTH120
    if folder != tree.root or not tree.contains(f"{folder}/__init__.py"):
        return None
    return "a package's parent folder can be read only in a git repository: move the policy into one, or import from the policy's own folder"


def _violation(error: BaseException) -> str | None:
    """Return the denied operation that caused this exception, if any."""
    link: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if link is None:
            return None
        if isinstance(link, SandboxViolationError):
            return _text_of(link)
        if isinstance(link, PermissionError):
            return f"the sandbox blocked this policy: {_text_of(link)}"
        if isinstance(link, RuntimeError) and link.args == ("can't start new thread",):
            return "this policy tried to start a thread"
        link = link.__cause__ or link.__context__
    return None


def _author_frames(trace: TracebackType | None, tree: PolicyTree) -> list[_Frame]:
    """Return the frames in the policy's tree, outermost first; of a deep recursion, both ends."""
    first: list[_Frame] = []
    last: list[_Frame] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_within(code.co_filename, tree.root):
            frame = (code.co_filename, trace.tb_lineno, code.co_name)
            if len(first) < _MAX_CHAIN // 2:
                first.append(frame)
            elif not last or frame != last[-1]:
                last = [*last[1 - _MAX_CHAIN // 2 :], frame]
        trace = trace.tb_next
    return first + last


def _at(frames: list[_Frame], tree: PolicyTree, fault: Fault) -> Fault:
    if not frames:
        return Fault(fault.kind, fault.message, tree.entry, hint=fault.hint)
    file, line, _ = frames[-1]
    return Fault(fault.kind, fault.message, file, line, hint=fault.hint, related=_chain(frames))


def _with_chain(fault: Fault, frames: list[_Frame]) -> Fault:
    places = (*frames, (fault.file or "", fault.line or 1, "<module>"))
    return Fault(fault.kind, fault.message, fault.file, fault.line, fault.column, fault.hint, _chain([*places]))


def _chain(frames: list[_Frame]) -> tuple[RelatedPlace, ...]:
    """Return every frame except the last, each with the function it called."""
    places: list[RelatedPlace] = []
    for (file, line, _), (_, _, called) in pairwise(frames):
        message = "imported from here" if called == "<module>" else f"calls `{called}`"
        if (file, line, message) not in places:
            places.append((file, line, message))
    return tuple(places)


def _path(parts: tuple[str | int, ...]) -> str:
    return f"`{'.'.join(str(part) for part in parts)}`: " if parts else ""


def _text_of(error: BaseException) -> str:
    try:
        # The unbound method converts an instance of a subclass, whose own methods are untrusted, to plain text.
        text = str.__str__(str(error))
    except BaseException:  # noqa: BLE001 - an author's __str__ may raise anything, KeyboardInterrupt included.
        return "(its message cannot be shown)"
    return " ".join(text[: MAX_MESSAGE_CHARACTERS + 1].split("\n"))


def _name_of(error: BaseException) -> str:
    return str.__str__(type.__dict__["__name__"].__get__(type(error)))
