"""Post the review of a pull request as a single comment, in the step `Comment` of `apportion-review-comment.yml`.

The step has a token, so it is isolated: no checkout, no packages, only the standard library. Its input is from a job
that the pull request may have changed: the artifact is size-limited and opened in memory, and its pull request number
is verified with GitHub.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from typing import Any, NoReturn

MARKER = "<!-- apportion:review -->"
LIMIT = 65_536
CAUTION = """\
> [!CAUTION]
> This pull request changes files in `.github/` (or too many files to check), so this review may have been written by a workflow in
> the pull request itself. Check those files first.
"""
N_LISTED_FILES = 3_000  # GitHub does not list more files of a pull request


def main() -> None:
    """Post or edit the comment, or print one sentence with the reason why not."""
    with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        run = json.load(file)["workflow_run"]
    number, text = review_of(run)
    if not number:
        print("apportion: the workflow did not write a review, and its pull request is unknown; nothing was posted")
        return
    pull = call("GET", f"/pulls/{number}")
    head = pull["head"]
    if not is_same_branch(head, run):
        stop(f"the artifact is for pull request {number}, which is not the one that was reviewed")
    if head["sha"] != run["head_sha"]:
        print(f"apportion: pull request {number} has a newer commit, which is reviewed separately; nothing was posted")
        return
    files = pages(f"/pulls/{number}/files")
    if len(files) >= N_LISTED_FILES or any(is_of_pipeline(file) for file in files):
        warned = f"{MARKER}\n{CAUTION}\n{text.partition(chr(10))[2]}"
        text = warned if len(warned) < LIMIT else f"{MARKER}\n{CAUTION}"
    post(number, text)


def review_of(run: dict[str, Any]) -> tuple[str, str]:
    """Return the number of the pull request (empty if unknown) and the text of the comment."""
    listed = call("GET", f"/actions/runs/{run['id']}/artifacts?name=apportion-review")["artifacts"]
    if not listed:
        known = [str(pull["number"]) for pull in run["pull_requests"]]
        text = f"{MARKER}\n### 🔴 This change was not reviewed\n\nThe [workflow]({run['html_url']}) did not write a review.\n"
        return (known[0] if known else ""), text
    newest = max(listed, key=lambda artifact: int(artifact["id"]))
    data = read("GET", f"/actions/artifacts/{newest['id']}/zip")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            number, text = (member(archive, name, limit) for name, limit in (("number", 16), ("comment.md", LIMIT)))
    except (
        zipfile.BadZipFile,  # Not an archive, or damaged.
        zlib.error,  # Damaged data of a file.
        EOFError,  # Truncated data of a file.
        RuntimeError,  # Encrypted, or compressed by an unsupported method (NotImplementedError).
        ValueError,  # An offset outside of the archive, or text that is not UTF-8 (UnicodeDecodeError).
    ) as refused:
        stop(f"the artifact cannot be read: {refused}")
    if not re.fullmatch(r"[1-9][0-9]{0,9}\n?", number):
        stop("the artifact does not contain a pull request number")
    if not text.startswith(f"{MARKER}\n"):
        stop("the artifact's comment does not start with the review marker")
    return number.strip(), text


def member(archive: zipfile.ZipFile, name: str, limit: int) -> str:
    """Return a file of the artifact, which must be smaller than a limit in bytes."""
    if name not in archive.namelist():
        stop(f"the artifact does not contain {name}")
    with archive.open(name) as file:
        data = file.read(limit)
    if len(data) == limit:
        stop(f"the artifact's {name} is {limit:,} bytes or larger")
    text = data.decode("utf-8")
    if any(ord(char) < 32 and char not in "\n\t" for char in text):
        stop(f"the artifact's {name} contains control characters")
    return text


def is_same_branch(head: dict[str, Any], run: dict[str, Any]) -> bool:
    """Return whether the head of a pull request is the branch, in the same repository, of the workflow run."""
    if not head["repo"] or not run["head_repository"]:
        return False
    return (head["repo"]["id"], head["ref"]) == (run["head_repository"]["id"], run["head_branch"])


def is_of_pipeline(file: dict[str, Any]) -> bool:
    """Return whether a changed file is or was below `.github/`."""
    return any(file.get(key, "").startswith(".github/") for key in ("filename", "previous_filename"))


def post(number: str, text: str) -> None:
    """Edit the existing comment of this workflow, or create it."""
    author = os.environ.get("COMMENT_AUTHOR") or "github-actions[bot]"
    own = [
        comment
        for comment in pages(f"/issues/{number}/comments")
        if comment["user"]["login"] == author and comment["body"].startswith(MARKER)
    ]
    if own:
        call("PATCH", f"/issues/comments/{own[0]['id']}", {"body": text})
    else:
        call("POST", f"/issues/{number}/comments", {"body": text})
    print(f"apportion: the comment on pull request {number} was {'edited' if own else 'created'}")


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
    """Return the API's response to a request about the repository."""
    answer = read(method, path, body)
    try:
        return json.loads(answer)
    except ValueError:
        stop(f"GitHub's response to {method} {path} is not JSON")


def read(method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
    """Return the bytes of a response, at most 8 MiB."""
    url = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}{path}"
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), method=method)
    # An artifact is downloaded from another host through a redirect, which must not receive the token.
    request.add_unredirected_header("Authorization", f"Bearer {os.environ['GH_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            data: bytes = response.read(2**23 + 1)
    except urllib.error.HTTPError as refused:
        stop(f"GitHub responded to {method} {path} with {refused.code} {refused.reason}")
    except OSError as failed:
        stop(f"GitHub did not respond to {method} {path}: {failed}")
    if len(data) > 2**23:
        stop(f"GitHub's response to {method} {path} exceeds 8 MiB")
    return data


def stop(reason: str) -> NoReturn:
    """Fail the step with an error message."""
    shown = "".join(char if char.isprintable() else " " for char in reason)
    print(f"::error title=apportion::The review was not posted: {shown}.")
    sys.exit(1)


if __name__ == "__main__":
    main()
