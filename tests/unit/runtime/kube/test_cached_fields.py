"""What the cache keeps of an object decides the same, and is small."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apportion_runtime.kube.cached_fields import cached_fields
from apportion_runtime.kube.gpu_reservation import waiting_reason

from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, node, pod, queue

TEAM = queue("team", None, 8)
_DEVICES = {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"configMapKeyRef": {"name": "shared", "key": "devices"}}}


def _large(made: dict[str, Any]) -> dict[str, Any]:
    """Return a pod as an API server stores it."""
    container = {
        **made["spec"]["containers"][0],
        "image": "trainer",
        "command": ["python", "train.py"],
        "env": [{"name": f"SETTING_{number}", "value": "x" * 100} for number in range(20)] + [_DEVICES],
        "volumeMounts": [{"name": "account", "mountPath": "/var/run/secrets/account"}],
    }
    sources = [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "root", "items": [{"key": "ca"}]}}]
    metadata = {
        **made["metadata"],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes"},
    }
    spec = {
        **made["spec"],
        "containers": [container],
        "volumes": [{"name": "account", "projected": {"sources": sources}}, {"name": "data", "emptyDir": {}}],
    }
    return {**made, "metadata": metadata, "spec": spec}


def test_values_of_variables_and_field_managers_are_dropped() -> None:
    kept = cached_fields("Pod", _large(pod("a", "team", 1)))
    text = json.dumps(kept)
    assert [
        word for word in ("SETTING", "managedFields", "last-applied", "train.py", "mountPath") if word in text
    ] == []
    assert kept["metadata"]["annotations"] == {"kept": "yes"}


def test_references_to_config_maps_are_kept() -> None:
    kept = cached_fields("Pod", _large(pod("a", "team", 1)))
    container = kept["spec"]["containers"][0]
    assert (container["env"], container["volumeMounts"]) == ([_DEVICES], [{"name": "account"}])
    projected = {"name": "account", "projected": {"sources": [{"configMap": {"name": "root"}}]}}
    assert kept["spec"]["volumes"] == [projected, {"name": "data", "emptyDir": {}}]


def test_decisions_are_those_for_whole_objects() -> None:
    whole = [node("n1", 4), TRAIN, TEAM, *(_large(pod(f"pod-{number}", "team", 2)) for number in range(3))]
    results = [
        run_cycle(Memory(*objects), NOW) for objects in (whole, [cached_fields(one["kind"], one) for one in whole])
    ]
    assert [(one.bound, one.waiting) for one in results] == [(["team/pod-0", "team/pod-1"], ["team/pod-2"])] * 2


def test_state_of_containers_is_kept_until_the_pod_starts() -> None:
    made = pod("a", "team", 1)
    made["status"] = {
        "phase": "Pending",
        "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}],
    }
    assert waiting_reason(cached_fields("Pod", made)) == " (ImagePullBackOff)"
    made["status"]["phase"] = "Running"
    assert cached_fields("Pod", made)["status"] == {"phase": "Running"}


def test_images_of_nodes_are_dropped() -> None:
    made = node("n1", 4)
    whole = {**made, "status": {**made["status"], "images": [{"names": ["a"], "sizeBytes": 1}]}}
    assert cached_fields("Node", whole) == made


def test_parts_that_two_pods_of_a_gang_share_are_stored_once() -> None:
    first = cached_fields("Pod", _large(pod("a", "team", 1)))
    second = cached_fields("Pod", _large(pod("b", "team", 1)), first)
    assert second["metadata"]["name"] == "b"
    assert second["spec"] is first["spec"]


def test_unchanged_version_is_the_kept_object() -> None:
    first = cached_fields("Pod", _large(pod("a", "team", 1)))
    assert cached_fields("Pod", _large(pod("a", "team", 1)), first) is first


_TEXTS = st.text("ab", max_size=2)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([1.0, 2**70]) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(_VALUES, _VALUES)
def test_object_is_the_same_whatever_it_shares(value: object, other: object) -> None:
    kept = cached_fields("Queue", {"metadata": {}, "spec": value}, {"metadata": {}, "spec": other})
    # The text tells 1 from 1.0 and from true, and the orders of keys apart.
    assert json.dumps(kept) == json.dumps({"metadata": {}, "spec": value})
