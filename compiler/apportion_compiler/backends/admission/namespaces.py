"""The policy on namespaces: only the platform team may assign a namespace to a queue.

The platform team consists of the users with the verb `administer` on the resource `policies` of the group
`apportion.dev`, which includes cluster administrators.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.admission.policy import AdmissionPolicy, binding_manifest, policy_manifest
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import GROUP
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.program import Program

ADMINISTER_VERB = "administer"
ADMINISTERED_RESOURCE = "policies"

_MAY = f"authorizer.group('{GROUP}').resource('{ADMINISTERED_RESOURCE}').check('{ADMINISTER_VERB}').allowed()"


def namespace_policy(program: Program) -> Iterator[Manifest]:
    """Yield the policy and its binding."""
    guarded = (f"{GROUP}/", *TRAITS[program.engine].guarded_prefixes)
    policy = AdmissionPolicy(
        "namespaces",
        (("", ("namespaces",)),),
        [
            {
                "expression": f"({_unchanged('labels', guarded)} && {_unchanged('annotations', guarded)}) || {_MAY}",
                "message": f"only the platform team may change {' and '.join(guarded)} labels and annotations of a "
                "namespace; edit the policy instead",
                "reason": "Forbidden",
            }
        ],
        [_variable(field, of) for field in ("labels", "annotations") for of in ("object", "oldObject")],
        guards_marks=True,
    )
    yield policy_manifest(program, policy)
    yield binding_manifest(program, policy)


def _variable(field: str, of: str) -> dict[str, str]:
    held = f"{of}.metadata.?{field}.orValue({{}})"
    # On creation, there is no old object to read.
    return {"name": _name(field, of), "expression": held if of == "object" else f"oldObject == null ? {{}} : {held}"}


def _name(field: str, of: str) -> str:
    return field if of == "object" else f"{field}Before"


def _unchanged(field: str, guarded: tuple[str, ...]) -> str:
    after, before = (f"variables.{_name(field, of)}" for of in ("object", "oldObject"))
    ours = " || ".join(f"k.startsWith('{prefix}')" for prefix in guarded)
    ours = ours if len(guarded) == 1 else f"({ours})"
    return (
        f"{after}.all(k, !{ours} || {before}[?k].orValue('') == {after}[k]) && {before}.all(k, !{ours} || k in {after})"
    )
