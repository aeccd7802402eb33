"""Defaults of a workload: its name, and the GPUs of its workers."""

from __future__ import annotations

from apportion_compiler.bindings.binding import EngineBinding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.kind import Kind
from apportion_compiler.bindings.options import Options
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.effective_limits import effective_limits
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import is_label, object_name, suggested_name
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU

WHOLE = 1000
"""Thousandths of a device."""


def name_of(wanted: str | None, queue: Queue, kind: str, template: Kind, n_workers: int) -> str:
    """Return the workload's name: the requested one, or the queue's name with the kind.

    Raises:
        BindingError: If it is not a valid name for the kind.
    """
    # The name includes the number of a numbered pod.
    bound = template.max_name - (len(f"-{n_workers - 1}") if template.kind == "Pod" and n_workers > 1 else 0)
    if wanted is None:
        name = suggested_name(f"{queue.id}-{kind.lower()}") or kind.lower()
        return name if len(name) <= bound else _cut(queue.id, kind.lower(), bound)
    if not is_label(wanted):
        suggestion = suggested_name(wanted)
        other = f", such as {suggestion[:bound]}" if suggestion else ""
        raise BindingError(f"the name {wanted} is invalid: use lowercase letters, digits and dashes{other}")
    if len(wanted) > bound:
        raise BindingError(f"the name of a {kind} must have at most {bound} characters, but {wanted} has {len(wanted)}")
    return wanted


def _cut(queue: str, kind: str, bound: int) -> str:
    # The digest is kept complete, so that truncated queue names do not collide.
    digest = object_name(f"{queue}/").rpartition("-")[2]
    head = (suggested_name(queue) or "")[: bound - len(digest) - len(kind) - 2].strip("-")
    return "-".join(part for part in (head, kind, digest) if part)


def gpus_of(program: Program, queue: Queue, engine: EngineBinding, options: Options) -> int:
    """Return thousandths of a GPU for each worker: by default one GPU, if the queue may use GPUs.

    Raises:
        BindingError: If it is a fraction of a GPU that the queue may not use or the engine does not support.
    """
    if options.gpus is None:
        limit = effective_limits(program)[queue.id]
        pools = [pool for pool in program.pools if pool.id in queue.pools]
        bound = [amount for resource, amount in limit.items() if resource.partition("/")[0] == GPU]
        has_some = not bound or any(isinstance(amount, Unlimited) or amount >= WHOLE for amount in bound)
        return WHOLE if has_some and (not program.pools or any(pool.n_gpus for pool in pools)) else 0
    refuse_share(queue, engine, options.gpus)
    return options.gpus


def refuse_share(queue: Queue, engine: EngineBinding, gpus: int) -> None:
    """Reject a fraction of a GPU if it is not available.

    Raises:
        BindingError: If the queue or the engine does not support fractions.
    """
    if not gpus % WHOLE:
        return
    if gpus > WHOLE:
        raise BindingError("a GPU fraction must be less than 1; for more, request whole GPUs")
    if engine.share is None:
        raise BindingError(f"{TRAITS[engine.name].title} has no quota for fractions of a GPU; request a whole GPU")
    if not queue.gpu_sharing:
        raise BindingError(
            f"queue {queue.id} must not share GPUs: set `gpu_sharing` in the policy, or request a whole GPU"
        )
