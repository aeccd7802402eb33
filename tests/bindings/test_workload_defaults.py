"""Defaults of a workload, and rejected requests."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.engine_lists import engines_except

from apportion_compiler.bindings.bind import bind, bound
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options, parse_schedule, parse_secret
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.workload_shapes import Node, found, pod_sets
from apportion_policy import Mig, PriorityClass, Queue, Resources

from .programs import A100, BY_MODEL, H100, ORDINARY, VISION, program

_FIRST = Options()


def _only(engine: str, kind: str, options: Options = _FIRST, queue: str = "vision", **over: Any) -> Node:
    (made,) = bind(program(engine, **over), queue, kind, options)
    return made


def _requests(made: Node) -> dict[str, str]:
    spec = pod_sets(made)[-1].spec
    return cast("dict[str, str]", cast("Any", spec)["containers"][0]["resources"]["requests"])


def test_default_namespace_and_name() -> None:
    made = _only("kai", "Job")
    assert found(made, "metadata", "name") == "vision-job"
    assert found(made, "metadata", "namespace") == "vision"


def test_namespace_option() -> None:
    assert found(_only("kai", "Job", Options(namespace="vision-dev")), "metadata", "namespace") == "vision-dev"


def test_default_priority_class_depends_on_the_kind() -> None:
    assert found(pod_sets(_only("native", "Job"))[0].spec, "priorityClassName") == "train"
    assert found(pod_sets(_only("native", "Deployment"))[0].spec, "priorityClassName") == "inference"


def test_default_class_of_the_policy_takes_precedence() -> None:
    default = PriorityClass(name="usual", value=10, preemptible=True, global_default=True)
    base = program("native")
    classes = tuple(sorted((*base.priority_classes, _lowered(default)), key=lambda cls: cls.value))
    queues = tuple(
        _with(queue, priority_classes=(*queue.priority_classes, "usual")) if queue.id == "vision" else queue
        for queue in base.queues
    )
    (made,) = bind(_with(base, priority_classes=classes, queues=queues), "vision", "Deployment", _FIRST)
    assert found(pod_sets(made)[0].spec, "priorityClassName") == "usual"


def test_default_gpu_count() -> None:
    assert _requests(_only("kai", "Job"))["nvidia.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in _requests(_only("kai", "Job", queue="speech"))


def test_no_priority_class_without_classes() -> None:
    base = program("kai")
    queues = tuple(_with(queue, priority_classes=()) for queue in base.queues)
    (made,) = bind(_with(base, priority_classes=(), queues=queues), "vision", "Job", _FIRST)
    assert found(made, "metadata", "labels") == {"kai.scheduler/queue": "vision"}
    assert found(pod_sets(made)[0].spec, "priorityClassName") is None


def test_custom_image_keeps_its_command() -> None:
    (container,) = cast("Any", pod_sets(_only("kai", "Job", Options(image="acme/train:1")))[0].spec["containers"])
    assert container["image"] == "acme/train:1"
    assert "command" not in container


@pytest.mark.parametrize("kind", ["RayJob", "RayCluster", "RayService", "JobSet", "CronJob", "PyTorchJob", "Pod"])
def test_long_queue_names_are_shortened(kind: str) -> None:
    bounds = {
        "RayJob": 47,
        "RayService": 47,
        "RayCluster": 53,
        "JobSet": 46,
        "CronJob": 52,
        "PyTorchJob": 50,
        "Pod": 63,
    }
    id_ = "a-team-with-a-long-name-that-fills-the-label-to-the-very-last-1"
    twin = id_[:-1] + "2"
    queues = [Queue(id=name, namespaces=(name[-9:],)) for name in (id_, twin)]
    made = [bind(program("kai", *queues), name, kind, _FIRST)[0] for name in (id_, twin)]
    names = [cast("str", found(workload, "metadata", "name")) for workload in made]
    assert all(len(name) <= bounds[kind] for name in names)
    assert names[0] != names[1]


def test_gpu_fraction_is_a_kai_annotation() -> None:
    made = _only("kai", "RayCluster", Options(gpus=500, workers=2))
    head, workers = pod_sets(made)
    assert found(head.template, "metadata", "annotations") is None
    assert found(workers.template, "metadata", "annotations") == {"gpu-fraction": "0.5"}
    assert "nvidia.com/gpu" not in _requests(made)


def test_gpu_model_selects_the_shard() -> None:
    base = {"pools": (H100, A100, ORDINARY)}
    made = _only("kai", "Job", Options(gpu_model="h100"), **base)
    assert found(made, "metadata", "labels", "kai.scheduler/queue") == "vision"
    divided = program("kai", BY_MODEL, **base)
    (made,) = bind(divided, "vision", "Job", Options(gpu_model="h100"))
    assert found(made, "metadata", "labels", "kai.scheduler/queue") == "vision-h100"
    assert found(made, "metadata", "labels", "kai.scheduler/node-pool") == "h100"
    assert found(pod_sets(made)[0].spec, "nodeSelector") == {"apportion.dev/gpu-model": "h100"}
    (cpu,) = bind(divided, "vision", "Job", Options(gpus=0))
    assert found(cpu, "metadata", "labels", "kai.scheduler/queue") == "vision"
    with pytest.raises(
        BindingError, match="has separate quotas for several GPU models: choose one with --gpu-model a100 or h100"
    ):
        bind(divided, "vision", "Job", _FIRST)


_MORE = H100.model_copy(update={"id": "more-h100"})
_LAST = H100.model_copy(update={"id": "last-h100"})
_CUT = H100.model_copy(update={"id": "cut-h100", "sharing": Mig(profile="1g.10gb", instances=7)})


@pytest.mark.parametrize(
    ("usable", "pools", "selector"),
    [
        (("h100",), (H100,), None),
        (("h100",), (H100, A100), {"apportion.dev/gpu-model": "h100"}),
        (("h100", "more-h100"), (H100, _MORE, A100), {"apportion.dev/gpu-model": "h100"}),
        (("h100",), (H100, _MORE), {"apportion.dev/node-pool": "h100"}),
        (("h100",), (H100, _MORE, A100), {"apportion.dev/gpu-model": "h100", "apportion.dev/node-pool": "h100"}),
        (("h100", "more-h100"), (H100, _MORE, _LAST), ["h100", "more-h100"]),
        (("h100", "cut-h100"), (H100, _CUT), {"apportion.dev/node-pool": "h100"}),
        (("cut-h100",), (_CUT,), None),
    ],
)
def test_allowed_pools_are_selected(usable: Any, pools: Any, selector: object) -> None:
    queue = VISION.model_copy(update={"pools": usable})
    (made,) = bind(program("native", queue, pools=(*pools, ORDINARY)), "vision", "Job", _FIRST)
    spec = pod_sets(made)[0].spec
    if not isinstance(selector, list):
        assert found(spec, "nodeSelector") == selector
        return
    required = found(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    expression = {"key": "apportion.dev/node-pool", "operator": "In", "values": selector}
    assert required == {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


@pytest.mark.parametrize(
    ("queue", "kind", "options", "says"),
    [
        ("visoin", "Job", _FIRST, "queue visoin does not exist; did you mean vision?"),
        (
            "research",
            "Job",
            _FIRST,
            "queue research has child queues and cannot run workloads; use one of its leaves: speech, vision",
        ),
        ("vision", "Jobb", _FIRST, "unknown kind Jobb; did you mean Job?"),
        ("vision", "VolcanoJob", _FIRST, "kind VolcanoJob is for Volcano, but the cluster runs KAI Scheduler"),
        (
            "vision",
            "Job",
            Options(namespace="speech"),
            "namespace speech does not belong to queue vision, whose namespaces are vision",
        ),
        ("speech", "Job", Options(priority_class="inference"), "queue speech cannot use priority class inference"),
        ("speech", "Job", Options(gpus=500), "queue speech must not share GPUs"),
        ("vision", "Job", Options(gpus=1500), "a GPU fraction must be less than 1"),
        (
            "vision",
            "Job",
            Options(name="Vision Job"),
            "the name Vision Job is invalid: use lowercase letters, digits and dashes, such as vision-job",
        ),
        (
            "vision",
            "RayJob",
            Options(name="a" * 48),
            "the name of a RayJob must have at most 47 characters, but a+ has 48",
        ),
        ("vision", "Job", Options(provisioning="dws"), "no node pool in the cluster uses provisioning plan dws"),
        ("vision", "Job", Options(gpu_model="b200"), "queue vision cannot use any pool with b200 GPUs; choose h100"),
    ],
)
def test_invalid_options_are_one_sentence(queue: str, kind: str, options: Options, says: str) -> None:
    with pytest.raises(BindingError, match=says):
        bind(program("kai"), queue, kind, options)


def test_queue_without_namespace_is_refused() -> None:
    with pytest.raises(BindingError, match="queue lone has no namespace"):
        bind(program("kai", Queue(id="lone")), "lone", "Job", _FIRST)


@pytest.mark.parametrize("engine", engines_except(kai="it shares GPUs"))
def test_gpu_fractions_are_refused_by_other_engines(engine: str) -> None:
    with pytest.raises(
        BindingError, match=f"{TRAITS[engine].title} has no quota for fractions of a GPU; request a whole GPU"
    ):
        bind(program(engine), "vision", "Job", Options(gpus=500))


def test_request_above_the_limit_is_warned_about() -> None:
    over = bound(program("kueue"), "vision", "Job", Options(gpus=8000, workers=3))
    assert over.remarks == (
        "vision-job requests 24 GPUs, but queue vision is limited to 16 GPUs; the workload would never start",
    )
    assert bound(program("kueue"), "vision", "Job", Options(gpus=8000, workers=2)).remarks == ()


@pytest.mark.parametrize(
    ("engine", "holds"),
    [("kai", True), ("ack", True), ("koordinator", True), ("kueue", False), ("volcano", False), ("yunikorn", False)],
)
def test_non_preemptible_work_above_guarantee_is_warned_about(engine: str, holds: bool) -> None:
    remarks = bound(program(engine), "vision", "Job", Options(gpus=8000, workers=2, priority_class="build")).remarks
    says = "vision-job requests 16 GPUs, but queue vision limits build workloads to its guarantee of 8 GPUs"
    assert [remark.startswith(says) for remark in remarks] == [True] * holds


def test_pod_larger_than_every_node_is_warned_about() -> None:
    wide = VISION.model_copy(update={"limit": Resources(gpu=32)})
    (remark,) = bound(program("native", wide), "vision", "Job", Options(gpus=16000)).remarks
    assert (
        remark
        == "vision-job requests 16 GPUs in one pod, but no machine that queue vision may use has more than 8 GPUs; the workload would never start"
    )


def test_gang_larger_than_the_cluster_is_warned_about() -> None:
    wide = VISION.model_copy(update={"limit": None})
    many = Options(gpus=8000, workers=H100.max_nodes + 1)
    (remark,) = bound(program("volcano", wide), "vision", "Job", many).remarks
    held = 8 * H100.max_nodes
    assert remark == (
        f"vision-job requests {held + 8} GPUs, but the nodes that queue vision may use have only {held} GPUs in total; the "
        "workload would never start"
    )
    # A server's replicas start independently, and so do all pods on an engine without gangs.
    assert bound(program("volcano", wide), "vision", "Deployment", many).remarks == ()
    assert bound(program("native", wide), "vision", "Job", many).remarks == ()


@pytest.mark.parametrize(
    ("text", "variable"), [("hub:token", "TOKEN"), ("hub:api-key", "API_KEY"), ("hub:token:HF_TOKEN", "HF_TOKEN")]
)
def test_secret_becomes_an_environment_variable(text: str, variable: str) -> None:
    assert parse_secret(text).variable == variable


@pytest.mark.parametrize("text", ["hub", "hub:", ":token", "hub:token:A-B", "hub:1st"])
def test_invalid_secret_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Secret reference of the form NAME:KEY"):
        parse_secret(text)


@pytest.mark.parametrize(
    "text", ["0 2 * * *", " */15 0-6/2 1,15 jan-MAR mon-fri ", "5/10 * ? 12 0", "@daily", "@every 1h30m"]
)
def test_valid_schedules(text: str) -> None:
    assert parse_schedule(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "", "every day", "* * * *", "0 2 * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7",
        "5-1 * * * *", "*/0 * * * *", "*/ * * * *", "- * * * *", "1- * * * *", "jan * * * *", "² * * * *", "@often",
        "TZ=UTC 0 2 * * *", "9" * 5000 + " * * * *",
    ],
)  # fmt: skip
def test_invalid_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a cron schedule such as"):
        parse_schedule(text)


def _with(record: Any, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(record, **changes)


def _lowered(cls: PriorityClass) -> Any:
    from apportion_compiler.ir.program import PriorityClass as Lowered

    return Lowered(
        cls.name,
        cls.value,
        bool(cls.preemptible),
        cls.global_default,
        None,
        False,
        cls.source,
    )
