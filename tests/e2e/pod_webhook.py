"""A mutating webhook for pods: stand-ins for the webhooks of programs that do not run here."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from .admission_webhook import admission_webhook
from .kubectl import Kubectl

Change = Callable[[dict[str, Any]], dict[str, Any]]
"""Returns a pod as the webhook changes it, or the same object."""


def pod_webhook(
    kubectl: Kubectl, generate_cert: Path, name: str, namespace: str, change: Change
) -> AbstractContextManager[None]:
    """Change the new pods of a namespace until the block ends.

    Args:
        kubectl: The administrator's.
        generate_cert: Go's generator of certificates.
        name: The name of the configuration, which must have dots.
        namespace: The namespace.
        change: Called with each pod.
    """

    def respond(request: Mapping[str, Any]) -> Mapping[str, Any]:
        pod = request["object"]
        made = change(pod)
        if made is pod:
            return {"allowed": True}
        patch = [{"op": "replace", "path": f"/{part}", "value": made[part]} for part in ("metadata", "spec")]
        encoded = b64encode(json.dumps(patch).encode()).decode()
        return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}

    return admission_webhook(kubectl, generate_cert, "MutatingWebhookConfiguration", name, namespace, "pods", respond)
