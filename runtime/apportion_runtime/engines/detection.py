"""Engine detection: the objects tell which engine a cluster runs; one without a model is refused, never run as another.

An engine is added by one entry of `MODELS` with how it is recognised, what makes it, and how its workloads speak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apportion_runtime.admission.objects import kind_of, name_of
from apportion_runtime.engines.ack.engine import Ack
from apportion_runtime.engines.kai.engine import CLASSES as KAI_CLASSES
from apportion_runtime.engines.kai.engine import Kai
from apportion_runtime.engines.kueue.api_names import WORKLOAD_LABELS as KUEUE_WORKLOAD_LABELS
from apportion_runtime.engines.kueue.engine import Kueue
from apportion_runtime.engines.native.engine import Native
from apportion_runtime.engines.volcano.api_names import VOLCANO_WORKLOAD_LABELS
from apportion_runtime.engines.volcano.engine import Volcano
from apportion_runtime.sim.api.cluster_state import World
from apportion_runtime.sim.engine import Engine
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.sim.scenario.workload_labels import (
    ACK_WORKLOAD_LABELS,
    KAI_WORKLOAD_LABELS,
    PLAIN_DIALECT,
    WorkloadLabels,
)

SYSTEM_CLASSES: Mapping[str, int] = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes that every cluster has."""
_PLAIN = frozenset(
    (("scheduling.k8s.io", "PriorityClass"), ("", "Namespace"), ("", "ConfigMap"), ("", "PersistentVolumeClaim"))
)


class NoModelError(ValueError):
    """Objects of an engine that has no model here, of several engines, or of none."""


def _everything(made: Manifest) -> bool:
    return True


def _plain(made: Manifest) -> bool:
    return kind_of(made) in _PLAIN


@dataclass(frozen=True, slots=True)
class Model:
    """An engine that is known.

    Attributes:
        name: The target, as the compiler names it.
        title: What people call it.
        is_of: Tells whether an object is this engine's own.
        make: Makes it for a world; None where there is no model of it.
        dialect: How workloads speak to it.
        reads: Tells whether an object is read into the records that the scheduler core shares.
        priority_classes: Those that are there unless the objects bring others of these names.
    """

    name: str
    title: str
    is_of: Callable[[Manifest], bool]
    made_by: Callable[[World], Engine] | None = None
    workload_labels: WorkloadLabels = PLAIN_DIALECT
    reads: Callable[[Manifest], bool] = _plain
    priority_classes: Mapping[str, int] = field(default_factory=lambda: SYSTEM_CLASSES)

    def make(self, world: World) -> Engine:
        """Make it for a world. Raises `NoModelError` where it has no model."""
        if self.made_by is None:
            raise NoModelError(f"{self.title} has no model here")
        return self.made_by(world)


def _of_groups(*groups: str) -> Callable[[Manifest], bool]:
    return lambda made: kind_of(made)[0] in groups


def _of_kinds(*kinds: tuple[str, str]) -> Callable[[Manifest], bool]:
    return lambda made: kind_of(made) in kinds


def _of_yunikorn(made: Manifest) -> bool:
    return kind_of(made) == ("", "ConfigMap") and name_of(made) in ("yunikorn-configs", "yunikorn-defaults")


KAI = Model(
    "kai",
    "KAI Scheduler",
    _of_groups("scheduling.run.ai", "kai.scheduler"),
    made_by=Kai,
    workload_labels=KAI_WORKLOAD_LABELS,
    reads=_everything,
    priority_classes=KAI_CLASSES,
)
ACK = Model(
    "ack",
    "ACK (ElasticQuotaTree and kube-queue)",
    _of_kinds(("scheduling.sigs.k8s.io", "ElasticQuotaTree"), ("scheduling.x-k8s.io", "Queue")),
    made_by=Ack,
    workload_labels=ACK_WORKLOAD_LABELS,
)
KUEUE = Model(
    "kueue",
    "Kueue",
    _of_groups("kueue.x-k8s.io", "config.kueue.x-k8s.io"),
    made_by=Kueue,
    workload_labels=KUEUE_WORKLOAD_LABELS,
)
VOLCANO = Model(
    "volcano",
    "Volcano",
    _of_groups("scheduling.volcano.sh", "batch.volcano.sh"),
    made_by=Volcano,
    workload_labels=VOLCANO_WORKLOAD_LABELS,
)
KOORDINATOR = Model(
    "koordinator",
    "Koordinator",
    lambda made: (
        kind_of(made)[0] in ("quota.koordinator.sh", "scheduling.koordinator.sh")
        or kind_of(made) == ("scheduling.sigs.k8s.io", "ElasticQuota")
    ),
)
YUNIKORN = Model("yunikorn", "Apache YuniKorn", _of_yunikorn)
NATIVE = Model("native", "plain Kubernetes", lambda made: False, made_by=Native)

MODELS: tuple[Model, ...] = (KAI, ACK, KUEUE, VOLCANO, KOORDINATOR, YUNIKORN, NATIVE)
"""Every engine that the compiler writes for. Plain Kubernetes is what a cluster is that has no other."""


def named(name: str) -> Model:
    """Return the engine of a target. Raises `NoModelError` where there is no model."""
    found = next((model for model in MODELS if model.name == name), None)
    if found is None or found.made_by is None:
        title = name if found is None else found.title
        raise NoModelError(f"{title} has no model here; choose one of {known()}: none stands in for another")
    return found


def known() -> str:
    """Return the titles of the engines with a model, as words."""
    return ", ".join(model.title for model in MODELS if model.made_by is not None)


def of_model(objects: Iterable[Manifest], model: Model) -> list[Manifest]:
    """Return objects without those that are other engines' own."""
    others = [each for each in MODELS if each is not model]
    return [made for made in objects if model.is_of(made) or not any(each.is_of(made) for each in others)]


def choose(objects: Iterable[Manifest], asked: str | None = None) -> Model:
    """Return the engine that objects are of, of several the one asked for by its target's name.

    Raises:
        NoModelError: If that is not one engine with a model.
    """
    everything = list(objects)
    present: Sequence[Model] = [model for model in MODELS if any(model.is_of(made) for made in everything)]
    if asked is not None:
        model = named(asked)
        if model is not NATIVE and model not in present:
            raise NoModelError(f"there is no object of {model.title} among these")
        if model is NATIVE and present:
            others = " and ".join(each.title for each in present)
            raise NoModelError(f"these objects are of {others}; plain Kubernetes would not read them")
        return model
    if len(present) > 1:
        titles = " and of ".join(model.title for model in present)
        names = " or ".join(model.name for model in present if model.made_by is not None)
        raise NoModelError(
            f"these objects are of {titles}; give those of one cluster, or name one with --engine {names}"
        )
    if present and present[0].made_by is None:
        raise NoModelError(
            f"these objects are of {present[0].title}, which has no model here; they are not run as another engine's"
        )
    return named((present[0] if present else NATIVE).name)
