"""Run the entry of a policy and find the `Policy` that it declares.

A second policy would be ignored silently, so it is a fault unless the caller chooses one by name. The template of a
copy does not count as a second policy, nor does that of a `policy.py` next to the entry.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from apportion_policy.declaration import DeclarationRecord
from apportion_policy.evaluation.fault import Fault, FaultKind
from apportion_policy.evaluation.fault_location import PolicyNotFoundError
from apportion_policy.evaluation.tree import ENTRY_NAMES, PolicyTree
from apportion_policy.policy import Policy

DEFAULT_NAME = "policy"


def load_entry(tree: PolicyTree, record: DeclarationRecord) -> Policy:
    """Return the policy of a Python file or a document.

    Args:
        tree: The entry and, if the caller chose one, the name of the policy in it.
        record: The declarations created while the entry runs.

    Raises:
        PolicyNotFoundError: If the file runs and does not declare exactly one policy.
        BaseException: Whatever the author's code raises; `DocumentFault` from a document.
    """
    if not tree.is_python:
        from apportion_policy.documents import load_document

        return load_document(Path(tree.entry))
    module = _run(tree)
    return _named(module, tree.attribute, tree) if tree.attribute else _only(module, tree, record)


def _run(tree: PolicyTree) -> ModuleType:
    """Execute the entry under the module name by which files next to it would import it."""
    folder, entry = Path(tree.root), Path(tree.entry)
    sys.path[:0] = list(dict.fromkeys((str(entry.parent), str(folder))))
    sys.argv = [tree.entry]
    name = ".".join(entry.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
    if name in sys.modules:
        name = f"apportion_entry_{entry.stem}"
    if "." in name:
        importlib.import_module(name.rpartition(".")[0])
    spec = importlib.util.spec_from_file_location(name, entry)
    if spec is None or spec.loader is None:
        raise _not_found("no-policy", f"{entry.name} cannot be loaded as a Python module", tree)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _only(module: ModuleType, tree: PolicyTree, record: DeclarationRecord) -> Policy:
    policy = _default_or_only(module, tree)
    templates = {id(template) for template in record.copied}
    made = [*record.made, *(value for name, value in vars(module).items() if name[0] != "_")]
    others = {
        id(other): other
        for other in made
        if isinstance(other, Policy)
        and other is not policy
        and id(other) not in templates
        and not _is_of_folder(other, tree)
    }
    if others:
        name = next((name for name, value in vars(module).items() if value is policy), DEFAULT_NAME)
        raise _several(policy, list(others.values()), f"{Path(tree.entry).name}:{name}")
    return policy


def _is_of_folder(policy: Policy, tree: PolicyTree) -> bool:
    """Return whether it is the folder's own policy, from which another entry imports declarations."""
    entry = Path(tree.entry)
    return entry.name != ENTRY_NAMES[0] and Path(policy.source.file) == entry.parent / ENTRY_NAMES[0]


def _several(policy: Policy, others: list[Policy], named: str) -> PolicyNotFoundError:
    """Return the fault at the first ignored policy; `named` is the command-line syntax for choosing it."""
    places = [other.source for other in others]
    counting = policy.source
    message = f"{len(others) + 1} policies are declared, but only the one at {Path(counting.file).name}:{counting.line} is used"
    related = (
        (counting.file, counting.line, "this policy is used"),
        *((place.file, place.line, "this policy is not used either") for place in places[1:20]),
    )
    hint = f"remove the others, or specify on the command line which to use: {named}"
    return PolicyNotFoundError(
        Fault("multiple-policies", message, places[0].file, places[0].line, hint=hint, related=related)
    )


def _default_or_only(module: ModuleType, tree: PolicyTree) -> Policy:
    names = vars(module)
    default = names.get(DEFAULT_NAME)
    if isinstance(default, Policy) or (callable(default) and not isinstance(default, type)):
        return _named(module, DEFAULT_NAME, tree)
    found = {id(value): (name, value) for name, value in names.items() if isinstance(value, Policy) and name[0] != "_"}
    if len(found) == 1:
        return next(iter(found.values()))[1]
    file = Path(tree.entry).name
    if not found:
        if default is not None:
            raise _not_found("no-policy", f"`{DEFAULT_NAME}` in {file} is {_kind(default)}, not a Policy", tree)
        hint = f"add `{DEFAULT_NAME} = Policy(…)` at the end of the file"
        raise _not_found("no-policy", f"{file} declares no Policy at module level", tree, hint=hint)
    listed = ", ".join(f"`{name}`" for name, _ in found.values())
    related = tuple((policy.source.file, policy.source.line, f"`{name}`") for name, policy in [*found.values()][:20])
    message = f"{file} declares {len(found)} policies: {listed}"
    hint = f"remove all but one, or specify on the command line which to use: {file}:{next(iter(found.values()))[0]}"
    raise PolicyNotFoundError(
        Fault("multiple-policies", message, tree.entry, related[0][1], hint=hint, related=related)
    )


def _named(module: ModuleType, name: str, tree: PolicyTree) -> Policy:
    missing = object()
    value: object = getattr(module, name, missing)
    if value is missing:
        raise _not_found("no-policy", f"{Path(tree.entry).name} has no `{name}`", tree)
    shown = f"`{name}`"
    line = None
    if callable(value) and not isinstance(value, type):
        line = getattr(getattr(value, "__code__", None), "co_firstlineno", None)
        value, shown = value(), f"`{name}()`"
    if not isinstance(value, Policy):
        raise _not_found("no-policy", f"{shown} is {_kind(value)}, not a Policy", tree, line=line)
    return value


def _kind(value: object) -> str:
    if value is None:
        return "None"
    return f"a {type(value).__name__}" if not isinstance(value, type) else "a class"


def _not_found(
    kind: FaultKind, message: str, tree: PolicyTree, *, line: int | None = None, hint: str | None = None
) -> PolicyNotFoundError:
    return PolicyNotFoundError(Fault(kind, message, tree.entry, line, hint=hint))
