"""Recorded cases of YuniKorn's core, replayed on the simulated core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.applications import PLACEHOLDER_TIMEOUT_S, SOFT, Application
from apportion_runtime.engines.yunikorn.configuration import configuration_of
from apportion_runtime.engines.yunikorn.nodes import Node, Nodes
from apportion_runtime.engines.yunikorn.partition import Partition, RefusedError
from apportion_runtime.engines.yunikorn.placement import place
from apportion_runtime.engines.yunikorn.scheduling_step import Outcome, run_step
from apportion_runtime.engines.yunikorn.user_limits import UserLimits

Case = Mapping[str, Any]
Result = Sequence[Mapping[str, Any]]


class Allowed:
    """Predicates of a case: the nodes that each request may use."""

    def __init__(self) -> None:
        self.nodes: dict[str, Sequence[str]] = {}

    def fits(self, request: Allocation, node: Node) -> str | None:
        """Return why a pod may not run on a node, or None."""
        allowed = self.nodes.get(request.key)
        return None if allowed is None or node.name in allowed else "node is not allowed"

    def fits_without(self, request: Allocation, node: Node, victims: Sequence[Allocation], start: int) -> int | None:
        """Return the index of the last victim that must leave a node for a pod, from `start`."""
        return start if self.fits(request, node) is None else None


def replay(case: Case) -> Result:
    """Return the state after each step of a case."""
    return _Replay(case).run()


class _Replay:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._configuration = configuration = configuration_of(case["config"])
        self._allowed = Allowed()
        self._partition = Partition(
            configuration.root,
            Nodes(configuration.node_sort_policy, configuration.node_weights),
            UserLimits(configuration.limits),
            self._allowed,
            preempts=configuration.preempts,
        )
        self._now = 0.0
        self._number = 0
        self._requests: dict[str, Allocation] = {}
        self._foreign: dict[str, tuple[Node, Mapping[str, int]]] = {}
        self._dying: list[Allocation] = []
        self._evicted: list[str] = []
        self._rejected: list[str] = []

    def run(self) -> Result:
        for node in self._case["nodes"]:
            self._partition.add_node(Node(node["name"], node["capacity"]))
        states: list[Mapping[str, Any]] = []
        for step in self._case["steps"]:
            self._advance(self._now + step["after"])
            for victim in self._dying:
                self._partition.release(victim, self._now)
            self._dying, self._evicted, self._rejected = [], [], []
            for event in step["events"]:
                self._apply(event)
            self._schedule()
            states.append(self._state())
        return states

    def _advance(self, until: float) -> None:
        while (timer := self._partition.next_timer()) <= until:
            self._now = max(self._now, timer)
            self._partition.advance(self._now)
        self._now = until
        self._expire()

    def _expire(self) -> bool:
        expired, self._partition.expired = self._partition.expired, []
        for placeholder in expired:
            self._partition.release(placeholder, self._now, timed_out=True)
        return bool(expired)

    def _apply(self, event: Mapping[str, Any]) -> None:
        partition = self._partition
        self._number += 1
        # The recorded events were a microsecond apart.
        self._now += 1e-6
        if node := event.get("node"):
            partition.add_node(Node(node["name"], node["capacity"]))
        elif cordon := event.get("cordon"):
            found = partition.nodes.get(cordon["node"])
            if found is not None:
                found.set_schedulable(not cordon.get("on"))
        elif gone := event.get("gone"):
            partition.remove_node(gone["node"], self._now)
        elif resize := event.get("resize"):
            resized = partition.nodes.get(resize["name"])
            if resized is not None:
                partition.resize_node(resized, resize["capacity"])
        elif app := event.get("app"):
            self._add_application(app)
        elif ask := event.get("ask"):
            self._add_request(ask)
        elif release := event.get("release"):
            key = release["key"]
            if key in self._foreign:
                on, amounts = self._foreign.pop(key)
                on.occupy({name: value - amounts.get(name, 0) for name, value in on.occupied.items()})
            elif key in self._requests:
                partition.release(self._requests.pop(key), self._now)

    def _add_application(self, app: Mapping[str, Any]) -> None:
        partition = self._partition
        tags = {**app.get("tags", {}), **({"namespace.parentqueue": app["tag"]} if app.get("tag") else {})}
        try:
            queue = place(
                self._configuration.rules, partition.queues, tags, app.get("queue", ""), partition.recovery_queue
            )
            partition.add_application(
                Application(
                    app["id"],
                    queue,
                    app.get("user", ""),
                    (self._now, self._number),
                    partition.limits,
                    app.get("placeholders"),
                    app.get("timeout") or PLACEHOLDER_TIMEOUT_S,
                    app.get("style") or SOFT,
                )
            )
        except RefusedError:
            self._rejected.append(app["id"])

    def _add_request(self, ask: Mapping[str, Any]) -> None:
        partition = self._partition
        if ask.get("nodes") is not None:
            self._allowed.nodes[ask["key"]] = ask["nodes"]
        if ask.get("foreign"):
            node = partition.nodes.get(ask["bound"])
            if node is None:
                return
            self._foreign[ask["key"]] = node, ask["amounts"]
            occupied = {name: node.occupied.get(name, 0) + value for name, value in ask["amounts"].items()}
            node.occupy({**node.occupied, **occupied})
            return
        application = partition.applications.get(ask["app"])
        if application is None or (ask.get("bound") and partition.nodes.get(ask["bound"]) is None):
            return
        request = self._requests[ask["key"]] = Allocation(
            ask["key"],
            application,
            ask["amounts"],
            (ask.get("created", self._now), self._number),
            ask.get("priority", 0),
            ask.get("group", ""),
            is_placeholder=ask.get("placeholder", False),
            may_be_preempted=not ask.get("opt_out"),
            may_preempt=not ask.get("never"),
            is_originator=ask.get("originator", False),
            required_node=ask.get("required", ""),
        )
        if ask.get("bound"):
            node = partition.nodes.get(ask["bound"])
            assert node is not None
            partition.recover(request, node, self._now)
        else:
            application.add_request(request)

    def _schedule(self) -> None:
        partition = self._partition
        while True:
            step = run_step(partition, self._now)
            if step is not None and step.outcome is Outcome.REPLACED:
                placeholder = step.request.counterpart
                assert placeholder is not None
                partition.confirm_replacement(placeholder, self._now)
            for eviction in partition.evictions:
                self._evicted.append(eviction.victim.key)
                self._dying.append(eviction.victim)
            partition.evictions = []
            if not self._expire() and step is None:
                return

    def _state(self) -> Mapping[str, Any]:
        applications = self._partition.applications.values()
        return {
            "allocated": {
                each.key: each.node.name
                for application in applications
                for each in application.allocations.values()
                if each.node is not None
            },
            "apps": {application.name: application.phase.value for application in applications},
            "evicted": sorted(self._evicted),
            "rejected": sorted(self._rejected),
            "reserved": {
                key: node.name for application in applications for key, (node, _, _) in application.reservations.items()
            },
            "used": {
                path: {name: value for name, value in queue.allocated.items() if value}
                for path, queue in self._partition.queues.items()
            },
            "pending": {
                path: {name: value for name, value in queue.pending.items() if value}
                for path, queue in self._partition.queues.items()
            },
        }
