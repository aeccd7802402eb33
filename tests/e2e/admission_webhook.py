"""An admission webhook on loopback."""

from __future__ import annotations

import contextlib
import json
import ssl
import subprocess
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from .kubectl import Kubectl

Respond = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns the response to the request of an AdmissionReview, without its uid: `{"allowed": True}`, and possibly a patch."""
Kind = Literal["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


@contextlib.contextmanager
def admission_webhook(
    kubectl: Kubectl, generate_cert: Path, kind: Kind, name: str, namespace: str, resource: str, respond: Respond
) -> Iterator[None]:
    """Call a webhook for the objects of a resource that are created in a namespace, until the block ends.

    Args:
        kubectl: The administrator's.
        generate_cert: Go's generator of certificates.
        kind: Mutating or validating.
        name: The name of the configuration, which must have dots.
        namespace: The namespace.
        resource: A resource of the core group, or a subresource as in `pods/binding`.
        respond: Called with each request.
    """
    folder = kubectl.kubeconfig.parent / name
    folder.mkdir(exist_ok=True)
    command: list[str | Path] = [generate_cert, "--host", "127.0.0.1", "--ca", "--ecdsa-curve", "P256"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(respond))
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    authority = b64encode((folder / "cert.pem").read_bytes()).decode()
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    webhook = {
        "name": name,
        "clientConfig": {"url": f"https://127.0.0.1:{server.server_port}/", "caBundle": authority},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [webhook],
    }
    try:
        answer = kubectl.create(configuration)
        assert answer.accepted, answer.said
        yield
    finally:
        kubectl.delete_objects([configuration])
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(respond: Respond) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
            response = {"uid": request["uid"], **respond(request)}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
            body = json.dumps(review).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            """Keep pytest's output clean."""

    return Handler
