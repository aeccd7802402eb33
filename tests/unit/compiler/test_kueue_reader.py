"""Existing Kueue objects: older API versions, no Apportion labels, quantities of every form."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_compiler.engines.kueue.reader import READER
from apportion_compiler.readers.record import ImportRecord
from apportion_policy.quantity import UNLIMITED

DWS = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata: {name: dws-prov}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: dws-config}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: dws-cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 10000}
      - {name: memory, nominalQuota: 10000Gi}
      - {name: nvidia.com/gpu, nominalQuota: 10000}
  admissionChecks: [dws-prov]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {namespace: default, name: dws-local-queue}
spec: {clusterQueue: dws-cluster-queue}
"""


def read_cluster(text: str) -> ImportRecord:
    return READER.read([m for m in yaml.safe_load_all(text) if m])


def quota(name: str, nominal: object, **more: object) -> dict[str, object]:
    return {"name": name, "nominalQuota": nominal, **more}


def flavors(resource: str, **quotas: dict[str, object]) -> dict[str, Any]:
    listed = [{"name": name.replace("_", "-"), "resources": [held]} for name, held in quotas.items()]
    return {"coveredResources": [resource], "flavors": listed}


def cluster_queue(name: str, *groups: dict[str, Any], **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"resourceGroups": list(groups), **spec},
    }


def cohort(name: str, *groups: dict[str, Any], **spec: object) -> dict[str, Any]:
    return {**cluster_queue(name, *groups, **spec), "kind": "Cohort"}


def flavor(name: str, **labels: str) -> dict[str, Any]:
    spec = {"nodeLabels": {key.replace("__", "."): value for key, value in labels.items()}}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def test_older_api_version_is_read() -> None:
    (queue,) = read_cluster(DWS).queues
    assert (queue.id, queue.parent, queue.namespaces) == ("dws-cluster-queue", None, ("default",))
    assert queue.guaranteed == {"cpu": 10_000_000, "memory": 10_000 * 2**30, "gpu": 10_000_000}


def test_quota_without_cohort_is_the_limit() -> None:
    (queue,) = read_cluster(DWS).queues
    assert queue.limit == queue.guaranteed


def test_provisioning_check_suggests_a_plan() -> None:
    assert ("AdmissionCheck dws-prov", "is dropped: declare a provisioning plan") in {
        (note.object, note.text.partition(",")[0]) for note in read_cluster(DWS).notes
    }


def test_provisioning_check_becomes_a_plan_of_its_pools() -> None:
    api = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    check = {
        **api,
        "kind": "AdmissionCheck",
        "metadata": {"name": "dws"},
        "spec": {
            "controllerName": "kueue.x-k8s.io/provisioning-request",
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "dws-config"},
        },
    }
    config = {
        **api,
        "kind": "ProvisioningRequestConfig",
        "metadata": {"name": "dws-config"},
        "spec": {
            "provisioningClassName": "queued-provisioning.gke.io",
            "parameters": {"maxRunDurationSeconds": "3600", "other": "x"},
            "retryStrategy": {"backoffLimitCount": 2, "backoffBaseSeconds": 60},
        },
    }
    queue = cluster_queue(
        "a",
        flavors("nvidia.com/gpu", queued=quota("nvidia.com/gpu", 8), reserved=quota("nvidia.com/gpu", 8)),
        admissionChecksStrategy={"admissionChecks": [{"name": "dws", "onFlavors": ["queued"]}]},
    )
    record = READER.read([flavor("queued", a="b"), flavor("reserved", c="d"), check, config, queue])
    (plan,) = record.plans
    assert (plan.id, plan.provisioning_class) == ("dws", "queued-provisioning.gke.io")
    assert (plan.max_run_duration, plan.retry_limit, plan.retry_backoff_base) == (3600, 2, 60)
    assert plan.parameters == {"other": "x"}
    assert {pool.id: pool.plan for pool in record.pools} == {"queued": "dws", "reserved": None}
    assert not any("plan" in note.text or "check" in note.text for note in record.notes)


def test_cohort_quota_is_added_to_members() -> None:
    cpu = flavors("cpu", default=quota("cpu", "500m"))
    record = READER.read(
        [
            cohort("root"),
            cohort("research", flavors("cpu", default=quota("cpu", 2, borrowingLimit="4")), parentName="root"),
            cluster_queue("a", cpu, cohortName="research"),
            cluster_queue("b", flavors("cpu", default=quota("cpu", 1.5, lendingLimit=1)), cohortName="research"),
            cluster_queue("c", cpu, cohortName="root"),
        ]
    )
    queues = {queue.id: queue for queue in record.queues}
    # A root that others made is a queue like any other: its name is kept, and Apportion puts none above it.
    assert {id_: queue.parent for id_, queue in queues.items()} == {
        "root": None,
        "research": "root",
        "a": "research",
        "b": "research",
        "c": "root",
    }
    assert record.cluster.kueue is not None
    assert not record.cluster.kueue.root_cohort
    assert (queues["research"].guaranteed, queues["research"].limit) == ({"cpu": 4000}, {"cpu": 8000})
    assert (queues["b"].guaranteed, queues["b"].lending_limit) == ({"cpu": 1500}, {"cpu": 1000})
    assert queues["a"].limit == {}


def test_implicit_v1beta1_cohort_is_an_inner_queue() -> None:
    record = READER.read(
        [
            cluster_queue("a", flavors("cpu", default=quota("cpu", 1)), cohort="one"),
            cluster_queue("b", flavors("cpu", default=quota("cpu", 2)), cohort="two"),
        ]
    )
    assert {queue.id: queue.parent for queue in record.queues} == {"one": None, "a": "one", "two": None, "b": "two"}
    assert {queue.id: queue.guaranteed for queue in record.queues}["two"] == {"cpu": 2000}
    assert all(queue.kueue is not None and queue.kueue.without_object for queue in record.queues if not queue.parent)


def test_cohort_with_the_name_of_a_queue_is_renamed() -> None:
    record = READER.read(
        [
            cohort("team", flavors("cpu", default=quota("cpu", 3))),
            cluster_queue("team", flavors("cpu", default=quota("cpu", 1)), cohortName="team"),
        ]
    )
    assert {queue.id: queue.parent for queue in record.queues} == {"team-cohort": None, "team": "team-cohort"}


@pytest.mark.parametrize(
    ("labels", "models"),
    [
        (
            {"a": {"nvidia__com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, "b": {"nvidia__com/gpu.product": "Tesla-T4"}},
            {"gpu/h100", "gpu/t4"},
        ),
        (
            {
                "a": {"cloud__google__com/gke-accelerator": "nvidia-h100-80gb"},
                "b": {"cloud__google__com/gke-accelerator": "nvidia-l4"},
            },
            {"gpu/h100", "gpu/l4"},
        ),
        ({"a100-spot": {}, "h100-reserved": {}}, {"gpu/a100", "gpu/h100"}),
        ({"spot": {"instance": "spot"}, "on_demand": {}}, {"gpu/on-demand", "gpu/spot"}),
    ],
)
def test_gpu_models_are_distinguished(labels: dict[str, dict[str, str]], models: set[str]) -> None:
    names = [name.replace("_", "-") for name in labels]
    objects = [flavor(name, **held) for name, held in zip(names, labels.values(), strict=True)]
    queue = cluster_queue(
        "a",
        flavors("nvidia.com/gpu", **{name: quota("nvidia.com/gpu", 4, borrowingLimit=2) for name in names}),
        cohortName="c",
    )
    (record,) = [queue for queue in READER.read([*objects, queue]).queues if queue.id == "a"]
    assert set(record.guaranteed) == {"gpu", *models}
    assert (record.guaranteed["gpu"], record.limit["gpu"]) == (8000, 12000)


def test_flavors_of_one_model_are_summed() -> None:
    label = {"nvidia__com/gpu.product": "H100"}
    held = flavors("nvidia.com/gpu", spot=quota("nvidia.com/gpu", 4), reserved=quota("nvidia.com/gpu", 8))
    record = READER.read([flavor("spot", **label), flavor("reserved", **label), cluster_queue("a", held)])
    assert record.queues[0].guaranteed == {"gpu": 12_000}
    assert {pool.gpu_model for pool in record.pools} == {"h100"}


def test_unlimited_placeholder_is_read_as_unlimited() -> None:
    queue = cluster_queue("a", flavors("nvidia.com/gpu", default=quota("nvidia.com/gpu", "1G", borrowingLimit=4)))
    assert READER.read([queue]).queues[0].guaranteed == {"gpu": UNLIMITED}


def test_cohort_cycle_is_skipped() -> None:
    record = READER.read([cohort("a", parentName="b"), cohort("b", parentName="a"), cluster_queue("c", cohortName="a")])
    assert record.queues == ()
    assert any("is in or below a cohort cycle, where Kueue admits no workloads" in note.text for note in record.notes)


def test_invalid_amount_is_reported() -> None:
    queue = cluster_queue("a", flavors("cpu", default=quota("cpu", "a lot")))
    with pytest.raises(ValueError, match=r"ClusterQueue a: spec\.resourceGroups\[0\]\.flavors\[0\].*`a lot` is not"):
        READER.read([queue])


def test_manager_settings_are_imported() -> None:
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "waitForPodsReady": {"timeout": "5m"},
    }
    found = READER.read([cluster_queue("a", queueingStrategy="StrictFIFO"), configuration]).cluster.kueue
    assert found is not None
    assert (found.queueing_strategy, found.wait_for_pods_ready) == ("StrictFIFO", "5m")
