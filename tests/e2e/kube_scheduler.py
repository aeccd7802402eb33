"""kube-scheduler beside a control plane, with a compiled profile or its defaults."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .kubectl import Kubectl
from .processes import Running, running

_DEFAULTS = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@contextlib.contextmanager
def kube_scheduler(
    kubectl: Kubectl, binaries: Path, configuration: Mapping[str, Any] | None = None
) -> Iterator[Running]:
    """Run kube-scheduler with the administrator's permissions until the block ends."""
    file = kubectl.kubeconfig.parent / "kube-scheduler.json"
    access = {"kubeconfig": str(kubectl.kubeconfig)}
    content = {**(configuration or _DEFAULTS), "clientConnection": access, "leaderElection": {"leaderElect": False}}
    file.write_text(json.dumps(content))
    command = [binaries / "kube-scheduler", f"--config={file}", "--secure-port=0"]
    with running(command, kubectl.kubeconfig.parent / "kube-scheduler.log") as process:
        yield process
