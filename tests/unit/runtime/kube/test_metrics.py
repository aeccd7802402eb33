"""The metrics: what a cycle exports, and that documentation, dashboard and alert rules use the exported names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from apportion_runtime.kube import metrics as metrics_module
from apportion_runtime.kube.gpu_reservation import CAUSES
from apportion_runtime.kube.metrics import EVICTING_ACTIONS, PENDING_KINDS, PREFIX, ClusterState, Metrics, QueueGpus

from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, TREE, node, pod

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/live-scheduler.md").read_text(encoding="utf-8")
MONITORING = Path(metrics_module.__file__).parent / "monitoring"
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
SCRAPED = {"instance", "job", "namespace", "pod"}
"""Labels that Prometheus adds."""
VARIABLES = {"$__rate_interval": "5m", "$queue": ".*"}


def _exported() -> dict[str, tuple[str, frozenset[str]]]:
    """Return the type and the labels of each metric in scrapes of schedulers that have done everything once."""
    metrics = Metrics()
    metrics.count_api_error("GET", "404")
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for state in (ClusterState((QueueGpus("team", 1, 2, 3),), {}), ClusterState(queued_jobs={"team": 1})):
        metrics.show(state)
        for family in text_string_to_metric_families(generate_latest(metrics.registry).decode()):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = {label for sample in family.samples for label in sample.labels} - {"le"}
            _, former = found.get(name, ("", frozenset()))
            found[name] = (family.type, former | labels)
    return {name: each for name, each in found.items() if not name.endswith("_created")}


EXPORTED = _exported()


def _series(name: str) -> frozenset[str] | None:
    """Return the labels of a series; None if it does not exist."""
    for exported, (kind, labels) in EXPORTED.items():
        if kind == "histogram" and name in (f"{exported}_{part}" for part in ("bucket", "sum", "count")):
            return labels | {"le"} if name.endswith("_bucket") else labels
        if kind != "histogram" and name == exported:
            return labels
    return None


def test_documented_metrics_are_the_exported_ones() -> None:
    rows = re.findall(rf"^\| `({PREFIX}_\w+)` \| (\w+) \| ([^|]*)\|", PAGE, re.MULTILINE)
    documented = {name: (kind, frozenset(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    assert documented == {name: each for name, each in EXPORTED.items() if name.startswith(PREFIX)}


@pytest.mark.parametrize(
    ("label", "values"), [("action", EVICTING_ACTIONS), ("reason", PENDING_KINDS), ("cause", CAUSES)]
)
def test_documented_label_values_are_the_exported_ones(label: str, values: tuple[str, ...]) -> None:
    (row,) = re.findall(rf"^\| `{label}` \| (.*) \|$", PAGE, re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", row)) == sorted(values)


def _expressions() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for variable, value in VARIABLES.items():
                expression = expression.replace(variable, value)
            yield panel["title"], expression


@pytest.mark.parametrize(("user", "expression"), list(_expressions()))
def test_expression_parses_and_selects_exported_series(user: str, expression: str) -> None:
    used: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, promql_parser.VectorSelector):
            used.append(part)
        elif isinstance(part, promql_parser.MatrixSelector):
            used.append(part.vector_selector)

    promql_parser.walk(promql_parser.parse(expression), visit)
    assert used
    labels: set[str] = set(SCRAPED)
    for selector in used:
        known = _series(selector.name)
        assert known is not None, f"{user} uses {selector.name}, which is not exported"
        assert {matcher.name for matcher in selector.matchers.matchers} <= known | SCRAPED
        labels |= known
    grouped = {
        name.strip()
        for names in re.findall(r"\b(?:by|on|without|ignoring) \(([^)]*)\)", expression)
        for name in names.split(",")
    }
    assert grouped <= labels


def test_alert_rules_have_the_fields_of_prometheus() -> None:
    assert [set(group) for group in ALERTS["groups"]] == [{"name", "rules"}]
    for rule in RULES:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_matched_values_of_alert_rules_exist() -> None:
    matched = [re.findall(r'reason="([^"]*)"', rule["expr"]) for rule in RULES]
    assert {value for values in matched for value in values} <= set(PENDING_KINDS)


def test_dashboard_has_grafanas_schema() -> None:
    assert DASHBOARD["schemaVersion"] == 39
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "queue"}
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    for n, one in enumerate(taken):
        assert one["x"] + one["w"] <= 24
        for other in taken[:n]:
            assert (
                one["x"] >= other["x"] + other["w"]
                or other["x"] >= one["x"] + one["w"]
                or one["y"] >= other["y"] + other["h"]
                or other["y"] >= one["y"] + one["h"]
            )
    for panel in DASHBOARD["panels"]:
        assert set(panel) == {"id", "type", "title", "description", "datasource", "gridPos", "fieldConfig", "targets"}
        assert [target["refId"] for target in panel["targets"]] == sorted({t["refId"] for t in panel["targets"]})


def test_metrics_of_cycle_have_reasons_queues_latencies_and_actions() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 2), pod("b", "vision", 4))
    result = run_cycle(cluster, NOW)
    assert len(result.latencies_s) == len(result.bound) == 1
    assert sum(result.pending.values()) == 1
    assert set(result.pending) <= set(PENDING_KINDS)
    gpus = {queue.name: queue.allocated for queue in result.queues}
    assert gpus["vision"] == {"team/a": 2, "team/b": 4}[result.bound[0]]


def test_eviction_is_counted_by_its_action() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("b1", "nlp", 2), pod("b2", "nlp", 2))
    run_cycle(cluster, NOW)
    cluster.create(pod("mine", "vision", 2))
    assert run_cycle(cluster, NOW + 1).actions == ["reclaim"]


def test_unbindable_pod_is_counted_as_excluded() -> None:
    shared = pod("a", "vision", 0, **{"gpu-fraction": "0.5"})
    result = run_cycle(Memory(node("n1", 4), TRAIN, *TREE, shared), NOW)
    assert result.pending == {"excluded": 1}
