"""The HTML report in a real browser: no errors, no network requests, and the report's own numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest

from apportion_cli.main import main
from apportion_runtime.sim.report.page import html_page
from apportion_runtime.sim.report.report import Report, build_report

from ..unit.runtime.sim.histories import crowded
from .chromium import Page

pytestmark = pytest.mark.browser
_EXAMPLES = Path(__file__).parents[2] / "examples"
_UNITS = 10_000 * 1_000
_CONTRASTS = """
(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    const found = parse(getComputedStyle(element).backgroundColor);
    if (found.length < 4 || found[3] === 1) return found;
    const under = element.parentElement ? behind(element.parentElement) : [255, 255, 255];
    return found.slice(0, 3).map((c, at) => c * found[3] + under[at] * (1 - found[3]));
  };
  return ["p", "dt", "dd", "th", "td", "small", "figcaption", "figcaption h3", ".top", ".axis span", "button", "footer", "label"]
    .map((selector) => document.querySelector(selector)).filter(Boolean).map((element) => {
      const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
      return [element.tagName + "." + element.className, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
    }).filter(([, ratio]) => ratio < 4.5);
})()
"""


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The report of an example, as a page and as JSON from the same run."""
    folder = tmp_path_factory.mktemp("seed")
    example = _EXAMPLES / "seed-001-kai-vllm"
    file, document = folder / "report.html", folder / "report.json"
    arguments = ["simulate", str(example), "--scenario", str(example / "scenario.yaml")]
    assert main([*arguments, "-o", f"html={file}", "-o", f"json={document}"]) == 0
    return file, json.loads(document.read_text())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """Ten thousand workloads of a hundred queues."""
    report = build_report(crowded(10_000), "ten thousand workloads", 1_767_600_000.0)
    file = tmp_path_factory.mktemp("large") / "report.html"
    file.write_text(html_page(report), encoding="utf-8")
    return file, report


def _opened(page: Page, file: Path) -> Page:
    page.open(file)
    assert page.complaints == []
    assert page.requests == [file.as_uri()], "the page itself, and nothing else"
    return page


def _numbers(page: Page, table: str) -> dict[str, list[float | None]]:
    """Return the numbers of a table's cells, by the queue of the row."""
    rows = page.value(
        f"[...document.querySelectorAll('{table} tbody tr')].map((row) => [row.dataset.queue ?? row.dataset.by,"
        " [...row.querySelectorAll('[data-value]')].map((cell) => cell.dataset.value)])"
    )
    return {name: [None if value == "" else float(value) for value in values] for name, values in rows}


def _area(path: str, top: float, hours: float) -> float:
    """Return the integral of a step area in GPU-hours, with its top at `top` GPUs and its width in hours."""
    steps = [
        (letter, [float(n) for n in numbers.split()]) for letter, numbers in re.findall(r"([MHVZ])([\d. ]*)", path)
    ]
    x = y = total = 0.0
    for letter, numbers in steps:
        if letter == "M":
            x, y = numbers
        elif letter == "V":
            y = numbers[0]
        elif letter == "H":
            total += (numbers[0] - x) * (1_000 - y)
            x = numbers[0]
    return total / _UNITS * top * hours


def test_page_and_json_have_equal_numbers(page: Page, seed: tuple[Path, dict[str, Any]]) -> None:
    file, report = seed
    _opened(page, file)
    shown = page.value(
        "Object.fromEntries([...document.querySelectorAll('[data-tile]')].map((tile) => [tile.dataset.tile, Number(tile.dataset.value)]))"
    )
    assert shown == {key: report[key] for key in shown}
    assert len(shown) == 7
    wanted = (
        "gpu_hours", "fair_gpu_hours", "share", "wait_p50_s", "wait_p90_s", "wait_p99_s", "n_waiting", "n_evictions",
        "lost_gpu_hours",
    )  # fmt: skip
    assert _numbers(page, "#queue-table") == {q["name"]: [q[field] for field in wanted] for q in report["queues"]}
    waits = {found["queue"]: list(map(float, found["counts"])) for found in report["waits"] if any(found["counts"])}
    assert _numbers(page, "#wait-table") == waits
    matrix = {made["by"]: [float(made["n_evictions"])] for made in report["preemptions"]}
    assert _numbers(page, "#matrix") == matrix


def test_charts_match_usage(page: Page, seed: tuple[Path, dict[str, Any]]) -> None:
    file, report = seed
    _opened(page, file)
    hours = report["duration_s"] / 3600
    used = {queue["name"]: queue["gpu_hours"] for queue in report["queues"]}
    charts = page.value(
        "[...document.querySelectorAll('figure')].map((f) => [f.dataset.queue, Number(f.dataset.top), f.querySelector('.allocated').getAttribute('d')])"
    )
    assert {name: _area(path, top, hours) for name, top, path in charts} == pytest.approx(used, rel=0.005)
    ran = [number for number, workload in enumerate(report["workloads"]) if workload["runs"]]
    assert page.value("[...document.querySelectorAll('.run')].map((bar) => Number(bar.dataset.i))") == ran
    marks = page.value("[...document.querySelectorAll('.eviction')].map((marks) => marks.getAttribute('d')).join('')")
    assert marks.count("M") == report["n_evictions"]


def test_ten_thousand_workloads(page: Page, large: tuple[Path, Report]) -> None:
    file, report = large
    assert file.stat().st_size < 3_000_000
    _opened(page, file)
    found = _numbers(page, "#queue-table")
    assert {queue.name: queue.gpu_hours for queue in report.summary.queues} == {n: v[0] for n, v in found.items()}
    taken = sum(value or 0 for values in _numbers(page, "#matrix").values() for value in values)
    assert taken == report.summary.n_evictions == sum(made.n_evictions for made in report.preemptions)
    assert page.value("document.querySelectorAll('.run').length") == sum(bool(w.runs) for w in report.workloads)
    assert page.value("document.querySelectorAll('#list tbody tr').length") == 100
    charts = page.value(
        "[...document.querySelectorAll('figure')].map((f) => [f.dataset.queue, Number(f.dataset.top), f.querySelector('.allocated').getAttribute('d')])"
    )
    used = {queue.name: queue.gpu_hours for queue in report.summary.queues}
    hours = report.summary.duration_s / 3600
    assert {name: _area(path, top, hours) for name, top, path in charts} == pytest.approx(used, rel=0.01)


def test_search_filters_list_and_chart(page: Page, large: tuple[Path, Report]) -> None:
    file, report = large
    _opened(page, file)
    wanted = [workload for workload in report.workloads if "team-007" in workload.queue]
    page.value(
        "(() => { const box = document.getElementById('search'); box.value = 'TEAM-007'; box.dispatchEvent(new Event('input')); })()"
    )
    rows = page.value("[...document.querySelectorAll('#list tbody th')].map((cell) => cell.textContent)")
    assert rows == [workload.name for workload in wanted][:100]
    bright = page.value("document.querySelectorAll('.run:not(.other)').length")
    assert bright == sum(bool(workload.runs) for workload in wanted)
    assert page.value("document.getElementById('found').textContent") == f"{len(wanted)} of 10,000 workloads"
    page.value(
        "(() => { const o = document.getElementById('order'); o.value = 'lost'; o.dispatchEvent(new Event('change')); })()"
    )
    lost = page.value(
        "[...document.querySelectorAll('#list tbody tr')].map((row) => Number(row.children[10].textContent))"
    )
    assert lost == sorted(lost, reverse=True)
    assert lost[0] == round(max(workload.lost_gpu_hours for workload in wanted), 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_in_both_colour_schemes(
    page: Page, seed: tuple[Path, dict[str, Any]], scheme: Literal["light", "dark"]
) -> None:
    page.emulate(scheme=scheme)
    _opened(page, seed[0])
    assert page.value(_CONTRASTS) == [], "less than 4.5 to 1"
    back = page.value("getComputedStyle(document.body).backgroundColor")
    assert back == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]


def test_phone_scrolls_only_vertically(phone: Page, seed: tuple[Path, dict[str, Any]]) -> None:
    _opened(phone, seed[0])
    assert phone.value("document.documentElement.scrollWidth") == 390
    assert phone.value("parseFloat(getComputedStyle(document.body).fontSize)") >= 14


def test_every_control_has_an_accessible_name(page: Page, seed: tuple[Path, dict[str, Any]]) -> None:
    """Accessible names: of inputs, drawings and regions, and of column headers."""
    _opened(page, seed[0])
    assert (
        page.value(
            "[...document.querySelectorAll('input, select')].filter((input) => !input.labels.length).map((input) => input.id)"
        )
        == []
    )
    unnamed = "[...document.querySelectorAll('[role=img], [role=group]')].filter((drawn) => !drawn.getAttribute('aria-label')).length"
    assert page.value(unnamed) == 0
    lost = "[...document.querySelectorAll('[aria-labelledby]')].filter((region) => !document.getElementById(region.getAttribute('aria-labelledby'))).length"
    assert page.value(lost) == 0
    assert page.value("[...document.querySelectorAll('th')].filter((head) => !head.scope).length") == 0
    assert page.value("document.documentElement.lang") == "en"


def test_print(page: Page, seed: tuple[Path, dict[str, Any]]) -> None:
    page.emulate(scheme="dark")
    _opened(page, seed[0])
    assert page.driven.pdf(print_background=True).startswith(b"%PDF")
    page.emulate(media="print", scheme="dark")
    assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.value("getComputedStyle(document.querySelector('.controls')).display") == "none"


def test_hostile_names_are_escaped(page: Page, tmp_path: Path) -> None:
    history = crowded(20, 10)
    for facts in history.workloads:
        facts.name = "</script><img src=x onerror=alert(1)><!--"
        facts.why_waiting = "<b>'\"&"
    history.parents["<i>queue</i>"] = None
    file = tmp_path / "report.html"
    file.write_text(html_page(build_report(history, "<script>alert(2)</script>", 0.0)), encoding="utf-8")
    _opened(page, file)
    assert page.value("document.querySelectorAll('img, b.x, td i:not(.track i), h1 script').length") == 0
    assert page.value("document.querySelector('h1').textContent") == "<script>alert(2)</script>"
    assert (
        page.value("document.querySelector('#list tbody th').textContent")
        == "</script><img src=x onerror=alert(1)><!--"
    )


def test_comparison_shows_differences(page: Page, tmp_path: Path) -> None:
    example = _EXAMPLES / "seed-001-kai-vllm"
    file, document = tmp_path / "comparison.html", tmp_path / "comparison.json"
    arguments = ["simulate", str(example), "--against", str(example / "literal.py")]
    scenario = ["--scenario", str(example / "scenario.yaml")]
    assert main([*arguments, *scenario, "-o", f"html={file}", "-o", f"json={document}"]) == 0
    _opened(page, file)
    wanted = json.loads(document.read_text())
    tiles = page.value(
        "[...document.querySelectorAll('.tiles [data-field]')].map(({dataset: d}) => [d.field, Number(d.before), Number(d.after)])"
    )
    assert tiles == [[change["field"], change["before"] or 0, change["after"] or 0] for change in wanted["cluster"]]
    rows = page.value("[...document.querySelectorAll('[data-workload]')].map((row) => row.dataset.workload)")
    assert rows == [changed["name"] for changed in wanted["workloads"]]


def test_console_errors_and_requests_are_detected(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(
        "<!doctype html><title>a</title><img src='http://127.0.0.1:9/a.png'><script>console.error('b'); c()</script>"
    )
    page.open(file)
    assert [request for request in page.requests if request.startswith("http")] == ["http://127.0.0.1:9/a.png"]
    told = " ".join(page.complaints)
    assert "error: b" in told
    assert "c is not defined" in told
