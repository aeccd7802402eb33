"""Post the review of a merge request as a single note, in the job `review-note` of `.gitlab-ci.yml`.

The job has a token, so it is isolated: only the standard library. The report is size-limited and validated, because a
policy controls some of its text.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import urllib.error
import urllib.request
from typing import Any, NoReturn

MARKER = "<!-- apportion:review -->"
LIMIT = 65_536
REPORT = "apportion-review.md"


def main() -> None:
    """Post or edit the note, or print one sentence with the reason why not."""
    text = report()
    merge_request = f"/projects/{os.environ['CI_PROJECT_ID']}/merge_requests/{os.environ['CI_MERGE_REQUEST_IID']}"
    reviewed = os.environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or os.environ["CI_COMMIT_SHA"]
    if call("GET", merge_request)["sha"] != reviewed:
        print("apportion: the merge request has a newer commit, which is reviewed separately; nothing was posted")
        return
    author = call("GET", "/user")["id"]
    own = [
        note
        for note in pages(f"{merge_request}/notes")
        if note["author"]["id"] == author and note["body"].startswith(MARKER)
    ]
    if own:
        call("PUT", f"{merge_request}/notes/{own[0]['id']}", {"body": text})
    else:
        call("POST", f"{merge_request}/notes", {"body": text})
    print(f"apportion: the note was {'edited' if own else 'created'}")


def report() -> str:
    """Return the report without quick actions, which GitLab would run with the rights of the token."""
    try:
        descriptor = os.open(REPORT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return f"{MARKER}\n### 🔴 This change was not reviewed\n\nThe job `review` did not write a review.\n"
    except OSError as refused:
        stop(f"{REPORT} cannot be read: {refused.strerror}")
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            stop(f"{REPORT} is not a regular file")
        data = file.read(LIMIT)
    if len(data) == LIMIT:
        stop(f"{REPORT} is {LIMIT:,} bytes or larger")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        stop(f"{REPORT} is not UTF-8")
    if any(ord(char) < 32 and char not in "\n\t" for char in text):
        stop(f"{REPORT} contains control characters")
    if not text.startswith(f"{MARKER}\n"):
        stop(f"{REPORT} does not start with the review marker")
    return re.sub(r"(?m)^(\s*)/", "\\1\N{WORD JOINER}/", text)


def pages(path: str) -> list[dict[str, Any]]:
    """Return all items of a list of the API."""
    items: list[dict[str, Any]] = []
    for page in range(1, 101):
        found = call("GET", f"{path}?per_page=100&page={page}")
        items += found
        if len(found) < 100:
            break
    return items


def call(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Return the API's response to a request."""
    url = f"{os.environ['CI_API_V4_URL']}{path}"
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), method=method)
    request.add_unredirected_header("PRIVATE-TOKEN", os.environ["APPORTION_REVIEW_TOKEN"])
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read())
    except urllib.error.HTTPError as refused:
        stop(f"GitLab responded to {method} {path} with {refused.code} {refused.reason}")
    except OSError as failed:
        stop(f"GitLab did not respond to {method} {path}: {failed}")
    except ValueError:
        stop(f"GitLab's response to {method} {path} is not JSON")


def stop(reason: str) -> NoReturn:
    """Fail the job with an error message."""
    shown = "".join(char if char.isprintable() else " " for char in reason)
    print(f"apportion: error: the review was not posted: {shown}")
    sys.exit(1)


if __name__ == "__main__":
    main()
