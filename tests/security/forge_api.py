"""A test double for the APIs of GitHub and GitLab, in memory, for the steps that post a review."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "t0k3n"
BOT = {"login": "github-actions[bot]", "id": 41}
PERSON = {"login": "mallory", "id": 7}


@dataclass
class Forge:
    """The state of the code host, and its requests so far.

    `comments` are those of pull request or merge request 5; `fails` maps a method and a path to a status and a reason.
    """

    url: str = ""
    pulls: dict[str, Any] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[bytes] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    merge_request: dict[str, Any] = field(default_factory=dict)
    fails: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    writes: list[tuple[str, str]] = field(default_factory=list)
    tokens: dict[str, str | None] = field(default_factory=dict)

    def add(self, author: dict[str, Any], body: str) -> dict[str, Any]:
        """Add a comment by a user."""
        comment = {"id": len(self.comments) + 1, "user": author, "author": author, "body": body}
        self.comments.append(comment)
        return comment

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        """Return the response of the API; None if the path does not exist."""
        match [method, *path.removeprefix("/repos/acme/quotas").removeprefix("/projects/3").split("/")[1:]]:
            case ["GET", "actions", "runs", "99", "artifacts"]:
                return {"artifacts": [{"id": at} for at, _ in enumerate(self.artifacts)]}
            case ["GET", "pulls", number]:
                return self.pulls.get(number)
            case ["GET", "pulls", _, "files"]:
                return _page(self.files, query)
            case ["GET", "issues", "5", "comments"] | ["GET", "merge_requests", "5", "notes"]:
                return _page(self.comments, query)
            case ["POST", "issues", "5", "comments"] | ["POST", "merge_requests", "5", "notes"]:
                return self.add(BOT, body["body"])
            case ["PATCH", "issues", "comments", number] | ["PUT", "merge_requests", "5", "notes", number]:
                comment = self.comments[int(number) - 1]
                comment["body"] = body["body"]
                return comment
            case ["GET", "merge_requests", "5"]:
                return self.merge_request
            case ["GET", "user"]:
                return BOT
            case _:
                return None


def _page(items: list[dict[str, Any]], query: dict[str, list[str]]) -> list[dict[str, Any]]:
    size, page = int(query["per_page"][0]), int(query["page"][0])
    return items[size * (page - 1) : size * page]


@contextmanager
def serving(forge: Forge) -> Iterator[Forge]:
    """Serve the APIs of a forge on a local port."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            forge.tokens[parts.path] = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN")
            if failure := forge.fails.get((self.command, parts.path)):
                self.send_error(*failure)
            elif parts.path.endswith("/zip"):
                # The bytes of an artifact are on a different host.
                self.send_response(302)
                number = parts.path.split("/")[-2]
                self.send_header("Location", f"{forge.url.replace('127.0.0.1', 'localhost')}/blob/{number}")
                self.end_headers()
            elif parts.path.startswith("/blob/"):
                self._send(forge.artifacts[int(parts.path.rpartition("/")[2])])
            else:
                if self.command != "GET":
                    forge.writes.append((self.command, parts.path))
                found = forge.answer(self.command, parts.path, parse_qs(parts.query), body)
                if found is None:
                    self.send_error(404, "Not Found")
                else:
                    self._send(json.dumps(found).encode())

        def _send(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Suppress the request log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forge.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
