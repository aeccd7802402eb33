"""The control plane has the pinned version, and serves every upstream CRD."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from .definitions import served_definitions, upstream_definitions
from .kubectl import Kubectl

pytestmark = pytest.mark.e2e

_GO_MOD = Path(__file__).parent / "kubernetes" / "go.mod"


def test_api_server_version_is_pinned(kubectl: Kubectl) -> None:
    """The API server has the version pinned in go.mod."""
    pinned = re.search(r"^\tk8s\.io/kubernetes (\S+)", _GO_MOD.read_text(), re.MULTILINE)
    assert pinned is not None
    assert kubectl.must("version", "-o", "json").json()["serverVersion"]["gitVersion"] == pinned.group(1)


def test_every_crd_is_established(kubectl: Kubectl) -> None:
    """All CRDs are installed and established, except the stricter schema that is not upstream's."""
    files = upstream_definitions()
    wanted = {yaml.load(path.read_bytes(), yaml.CSafeLoader)["metadata"]["name"] for path in files}
    assert len(wanted) == len(files)
    assert not [path for path in upstream_definitions() if "strict" in path.name]
    assert served_definitions(kubectl) == dict.fromkeys(wanted, True)


def test_unknown_field_is_rejected(kubectl: Kubectl) -> None:
    """Strict validation is enabled, as other tests require: unknown fields are rejected."""
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "misspelt"},
        "spec": {"resourceQuota": {}},
    }
    answer = kubectl.create(queue)
    assert not answer.accepted
    assert 'unknown field "spec.resourceQuota"' in answer.said
