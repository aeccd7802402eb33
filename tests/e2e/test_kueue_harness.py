"""Tests of the harness: Kueue and its webhooks validate and admit handwritten objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .admission import condition, is_admitted, is_held_back, wait_for
from .conftest import KueueWith
from .kubectl import Kubectl, Object
from .kueue_manager import API_VERSION
from .workloads import job, template

pytestmark = pytest.mark.e2e

_GO_MOD = Path(__file__).parent / "kueue" / "go.mod"


@pytest.fixture(scope="module")
def kueue(kueue_with: KueueWith) -> Kubectl:
    """Kueue with its module's default configuration."""
    return kueue_with({})


@pytest.fixture(scope="module")
def queue(kueue: Kubectl) -> Iterator[str]:
    """A queue of two CPUs in the namespace default."""
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": 2}]}],
    }
    objects = (
        _object("ResourceFlavor", "any"),
        _object("ClusterQueue", "by-hand", resourceGroups=[group], namespaceSelector={}),
        _object("LocalQueue", "by-hand", clusterQueue="by-hand", namespace="default"),
    )
    assert kueue.create(*objects).said == ""
    yield "by-hand"
    kueue.must("delete", "job", "--all", "--namespace=default")
    kueue.must("delete", "localqueue", "by-hand", "--namespace=default")
    kueue.must("delete", "clusterqueue,resourceflavor", "--all")


def _object(kind: str, name: str, namespace: str | None = None, **spec: object) -> Object:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def test_flavor_order_is_validated(kueue: Kubectl) -> None:
    """The webhook rejects the object with its own message."""
    amounts = [{"name": name, "nominalQuota": 1} for name in ("memory", "cpu")]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": amounts}]}
    answer = kueue.create(_object("ClusterQueue", "unordered", resourceGroups=[group]), dry_run=True)
    assert 'admission webhook "vclusterqueue.kb.io" denied the request' in answer.said
    assert "must match the name in coveredResources" in answer.said


def test_manager_version_is_pinned(kueue: Kubectl, queue: str) -> None:
    """CRDs come from the module as well, so the served version is the one pinned in go.mod."""
    pinned = re.search(r"sigs\.k8s\.io/kueue (\S+)", _GO_MOD.read_text())
    assert pinned is not None
    log = (kueue.kubeconfig.parent / "kueue.log").read_text()
    assert f'"gitVersion":"{pinned.group(1)}"' in log


def test_jobs_are_admitted_up_to_the_quota(kueue: Kubectl, queue: str) -> None:
    """The first Job uses both CPUs; the second stays suspended until the first is deleted."""
    kueue.must("wait", "--for=condition=Active", f"clusterqueue/{queue}", "--timeout=100s")
    first, second = (_job(queue, name) for name in ("first", "second"))
    assert kueue.create(first).said == ""
    wait_for(kueue, first, is_admitted, "admitted")
    kueue.must("wait", "--for=jsonpath={.spec.suspend}=false", "job/first", "--timeout=100s")
    assert kueue.create(second).said == ""
    refused = wait_for(kueue, second, is_held_back, "held back")
    assert "insufficient unused quota for cpu" in condition(refused, "QuotaReserved")["message"]
    kueue.must("delete", "job", "first")
    wait_for(kueue, second, is_admitted, "admitted")


def _job(queue: str, name: str) -> Object:
    asking = template(scheduler=None, restart="Never", requests={"cpu": "2"})
    return job("default", {"kueue.x-k8s.io/queue-name": queue}, name=name, of=asking)
