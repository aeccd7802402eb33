"""A headless Chromium, spoken to over a pipe in its DevTools protocol: no driver, no port, no other package."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_VARIABLE = "APPORTION_CHROMIUM"
_FLAGS = (
    "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-quic", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE_S = 60.0
_HIGH = 10
"""File descriptors below are the browser's own: it reads from 3 and writes to 4."""
_WITH_PIPES = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Return a Chromium that is installed: the one a variable names, or one of the usual names."""
    named = os.environ.get(_VARIABLE)
    if named:
        return named
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@dataclass(slots=True)
class Page:
    """A page that was loaded, with what it complained about and what it asked the network for."""

    _browser: _Pipe
    session: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the page for something."""
        return self._browser.call(method, parameters, self)

    def value(self, expression: str) -> Any:
        """Return what an expression comes to in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, file: Path) -> None:
        """Load a file, and wait until everything that it runs at once has run."""
        self.call("Page.navigate", url=file.as_uri())
        self._browser.wait_for("Page.loadEventFired", self)
        self.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def resize(self, width: int, height: int) -> None:
        """Have a screen of another size, as a phone where it is narrow."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def emulate(self, media: str = "", **features: str) -> None:
        """Have another medium, such as print, or wishes of the reader, such as `prefers_color_scheme`."""
        wished = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=wished)

    def picture(self, file: Path) -> None:
        """Keep a picture of the whole page."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))

    def printed(self) -> bytes:
        """Return the page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def heard(self, event: Mapping[str, Any]) -> None:
        """Take note of an event."""
        told = event["params"]
        match event["method"]:
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(f"{told['type']}: {told['args']}")
            case "Log.entryAdded":
                self.complaints.append(f"{told['entry']['level']}: {told['entry']['text']}")
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])


class _Pipe:
    """The two ends of the browser's pipe: messages are JSON, each ended by a zero byte."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._pages: dict[str, Page] = {}

    def call(self, method: str, parameters: Mapping[str, Any], page: Page | None = None) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if page is not None:
            message["sessionId"] = page.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result = answer["result"]
                assert isinstance(result, dict)
                return result
            self._take(answer)

    def wait_for(self, method: str, page: Page) -> None:
        while True:
            for number, event in enumerate(self._events):
                if event["method"] == method and event.get("sessionId") == page.session:
                    del self._events[number]
                    return
            self._take(self._next())

    def page(self) -> Page:
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        return page

    def _take(self, event: dict[str, Any]) -> None:
        if "method" not in event:
            return
        self._events.append(event)
        page = self._pages.get(event.get("sessionId", ""))
        if page is not None:
            page.heard(event)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"Chromium said nothing for {_PATIENCE_S:.0f} s"
            read = os.read(self._from, 1 << 20)
            assert read, "Chromium ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        found = json.loads(message)
        assert isinstance(found, dict)
        return found


@contextlib.contextmanager
def browser(program: str, profile: Path) -> Iterator[_Pipe]:
    """Start Chromium with an empty profile, and end it."""
    read_by_it, written_by_us = os.pipe()
    read_by_us, written_by_it = os.pipe()
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, _HIGH) for end in (read_by_it, written_by_it)]
    os.close(read_by_it)
    os.close(written_by_it)
    # The sandbox of the browser refuses to be started by root; the pages are the project's own.
    unconfined = ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [program, *_FLAGS, *unconfined, f"--user-data-dir={profile}", "about:blank"]
    with (profile.parent / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _WITH_PIPES, *map(str, theirs), *command], pass_fds=theirs, stdout=log, stderr=log
        )
    for end in theirs:
        os.close(end)
    try:
        yield _Pipe(written_by_us, read_by_us)
    finally:
        os.close(written_by_us)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(read_by_us)
