"""Prerequisites of the output, compared with an export of a cluster."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_compiler.backends import BACKENDS
from apportion_compiler.installation import installation
from apportion_compiler.ir.program import Program
from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects
from apportion_policy import Engine, KaiSettings, LiveScheduler, Queue, Resources

from .quota_programs import gpu_pool, program_of

CRDS = Path(__file__).parents[2] / "crds"


def _program(engine: str) -> Program:
    team = Queue(id="team", namespaces=("team",), guaranteed=Resources(cpu=8, memory="64Gi", gpu=8))
    return program_of(Engine(engine), team, pools=(gpu_pool("h100"),))


def _export(engine: str, image: str, *arguments: str) -> list[dict[str, Any]]:
    crds = [
        document
        for path in sorted((CRDS / engine).glob("*.yaml"))
        if ".strict." not in path.name
        for document in yaml.load_all(path.read_bytes(), yaml.CSafeLoader)
        if document and document.get("kind") == "CustomResourceDefinition"
    ]
    container = {"name": "main", "image": image, "args": list(arguments)}
    spec = {"template": {"spec": {"containers": [container]}}}
    return [*crds, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}]


def _states(engine: str, export: list[dict[str, Any]], program: Program | None = None) -> dict[str, str]:
    held = program or _program(engine)
    return {one.name: one.state for one in installation(held, BACKENDS[engine].emit(held), export)}


@pytest.mark.parametrize(
    ("engine", "image", "kind"),
    [
        ("kai", "ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.17.0", "Queue.scheduling.run.ai/v2"),
        ("kueue", "registry.k8s.io/kueue/kueue:v0.18.3", "ClusterQueue.kueue.x-k8s.io/v1beta2"),
        ("volcano", "docker.io/volcanosh/vc-scheduler:v1.16.0", "Queue.scheduling.volcano.sh/v1beta1"),
        (
            "koordinator",
            "registry/koordinator-sh/koord-scheduler:v1.8.0",
            "ElasticQuota.scheduling.sigs.k8s.io/v1alpha1",
        ),
    ],
)
def test_served_and_other_api_versions_are_distinguished(engine: str, image: str, kind: str) -> None:
    program = _program(engine)
    export = _export(engine, image)
    assert _states(engine, export, program)[kind] == "ok"
    assert _states(engine, [export[-1]], program)[kind] == "missing"
    unserved = copy.deepcopy(export)
    for crd in unserved[:-1]:
        crd["spec"]["versions"] = [{**v, "served": False} for v in crd["spec"]["versions"]]
    assert _states(engine, unserved, program)[kind] == "bad"


def test_other_engine_version_is_an_error() -> None:
    program = _program("kueue")
    for tag, state in ((f"v{program.engine_version}.1", "ok"), ("v0.1.0", "bad")):
        assert _states("kueue", _export("kueue", f"kueue/kueue:{tag}"), program)["Kueue version"] == state
    assert _states("kueue", [], program)["Kueue version"] == "missing"


def test_kueue_configuration_must_enable_weights() -> None:
    program = _program("kueue")
    (wanted,) = (a for a in BACKENDS["kueue"].emit(program).artifacts if a.name == "controller_manager_config.yaml")
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}

    def state(content: dict[str, Any]) -> str:
        data = {"controller_manager_config.yaml": yaml.safe_dump(content)}
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        return _states("kueue", [config_map], program)["ConfigMap kueue-system/kueue-manager-config"]

    needed = yaml.safe_load(wanted.content)
    assert state(needed) == "ok"
    # What it says besides does not matter, nor does the order of a list.
    more = {**needed, "leaderElection": {"leaderElect": True}}
    more["integrations"] = {"frameworks": [*reversed(needed["integrations"]["frameworks"]), "other/job"]}
    assert state(more) == "ok"
    assert state({key: value for key, value in needed.items() if key != "fairSharing"}) == "bad"


def test_kuberay_must_be_configured_for_the_engine() -> None:
    for arguments, state in (
        (("--batch-scheduler=kai-scheduler",), "ok"),
        (("--batch-scheduler=volcano",), "bad"),
        ((), "bad"),
    ):
        assert _states("kai", _export("kai", "quay.io/kuberay/operator:v1.4.2", *arguments))["KubeRay"] == state
    assert _states("kai", [])["KubeRay"] == "missing"


def test_chart_values_are_listed_without_verdict() -> None:
    assert _states("kai", [])["values.yaml"] == "missing"


IMAGE = "ghcr.io/kai-scheduler/kai-scheduler/resourcereservation:v0.17.0"
RESERVATIONS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "kai-resource-reservation"},
}
CONFIG_MAP = "ConfigMap apportion-system/apportion-scheduler"


def _sharing(*, gpu_sharing: bool = True, live: LiveScheduler | None = None) -> Program:
    team = Queue(id="team", namespaces=("team",), guaranteed=Resources(gpu=8), gpu_sharing=gpu_sharing)
    return program_of(Engine.KAI, team, pools=(gpu_pool("h100"),), kai=KaiSettings(live_scheduler=live))


def _packaged(reservation: str | None) -> list[dict[str, Any]]:
    made = scheduler_objects(SchedulerDeployment("registry/apportion:v1", reservation=reservation))
    return [dict(one) for one in made if one["kind"] == "ConfigMap"]


def test_live_scheduler_without_reservation_image_is_an_error_if_gpus_are_shared() -> None:
    for image, state in ((IMAGE, "ok"), (None, "bad")):
        assert _states("kai", _packaged(image), _sharing())[CONFIG_MAP] == state
        assert CONFIG_MAP not in _states("kai", _packaged(image), _sharing(gpu_sharing=False))


def test_declared_reservation_image_is_compared() -> None:
    declared = _sharing(live=LiveScheduler(reservation_image=IMAGE))
    for image, state in ((IMAGE, "ok"), ("registry/other:v1", "bad"), (None, "bad")):
        assert _states("kai", _packaged(image), declared)[CONFIG_MAP] == state
    assert _states("kai", [], declared)["live scheduler"] == "missing"
    assert "live scheduler" not in _states("kai", [], _sharing())


def test_namespace_of_reservations_must_exist_if_gpus_are_shared() -> None:
    name = "Namespace kai-resource-reservation"
    other = {**RESERVATIONS, "metadata": {"name": "default"}}
    for export, state in (([], "missing"), ([other], "bad"), ([other, RESERVATIONS], "ok")):
        assert _states("kai", export, _sharing())[name] == state
    assert name not in _states("kai", [other], _sharing(gpu_sharing=False))
