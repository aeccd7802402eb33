"""The kubelets: start pods, wait for their startup, and terminate them with their grace period."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apportion_runtime.core.status import RELEASING, RUNNING
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.events import PodGone, PodsReady, PodsRun
from apportion_runtime.sim.api.object_store import Conflict, Refused
from apportion_runtime.sim.history import ENDED_BY_NODE


class Kubelet:
    """The lifecycle of pods from binding to termination.

    Args:
        cluster_state: The simulated cluster.
        startup_s: The startup time of a pod.
        ready: Called when a pod becomes ready.
        stops: Called when a pod that was working or waiting stops.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        *,
        startup_s: Callable[[PodState], float],
        ready: Callable[[PodState], None],
        stops: Callable[[PodState], None],
    ) -> None:
        self._cluster_state = cluster_state
        self._startup_s = startup_s
        self._ready = ready
        self._stops = stops

    def bind(
        self, uid: str, node: str, *, cpu: float = 0.0, gpus: float = 0.0, gpu_groups: tuple[str, ...] = ()
    ) -> bool:
        """Bind a pod; return whether the cluster allowed it.

        Args:
            uid: The pod.
            node: Its node.
            cpu: Its millicores.
            gpus: Its devices, including fractions of shared ones.
            gpu_groups: Its shared devices.
        """
        cluster_state = self._cluster_state
        pod = cluster_state.pods.get(uid)
        if pod is None:
            return False
        try:
            cluster_state.store.bind(pod.namespace, pod.name, node, gpu_groups)
        except (Conflict, Refused) as refused:
            cluster_state.note("bind-refused", workload=pod.workload, pod=pod.name, node=node, why=str(refused))
            return False
        # The engine counts a bound pod as running.
        pod.record = cluster_state.records.set_bound(
            pod.record.in_state(RUNNING, node, gpu_groups, nominated_node=None)
        )
        pod.gpus = gpus
        pod.is_bound = True
        cluster_state.pod_changed(uid)
        cluster_state.n_pending -= 1
        cluster_state.occupy(node, pod.uid)
        cluster_state.history.begin_stay(
            pod.name, pod.workload, node, gpus=pod.gpus, cpu=cpu, at_s=cluster_state.elapsed_s, devices=gpu_groups
        )
        cluster_state.note("bound", workload=pod.workload, pod=pod.name, node=node, gpus=gpus, gpu_groups=gpu_groups)
        cluster_state.events.join(cluster_state.now + cluster_state.timing.container_start_s, PodsRun, uid)
        return True

    def run(self, uid: str) -> None:
        """Start the containers of a pod."""
        cluster_state = self._cluster_state
        pod = cluster_state.pods.get(uid)
        if pod is None or pod.leaving:
            return
        pod.runs = True
        cluster_state.store.set_status(
            "Pod", pod.namespace, pod.name, {"phase": "Running", "startTime": cluster_state.clock.text}
        )
        cluster_state.note("running", workload=pod.workload, pod=pod.name, node=pod.record.node or "")
        cluster_state.events.join(cluster_state.now + self._startup_s(pod), PodsReady, uid)

    def make_ready(self, uid: str) -> None:
        """Mark a pod as ready after its startup."""
        cluster_state = self._cluster_state
        pod = cluster_state.pods.get(uid)
        if pod is None or pod.leaving:
            return
        pod.is_ready = True
        ready = [{"type": "Ready", "status": "True", "lastTransitionTime": cluster_state.clock.text}]
        cluster_state.store.set_status("Pod", pod.namespace, pod.name, {"conditions": ready})
        self._ready(pod)

    def stop(self, pod: PodState, why: str) -> bool:
        """Delete a pod: immediately if it is not bound, otherwise with its grace period. Return whether the cluster allowed it."""
        cluster_state = self._cluster_state
        if self.is_leaving(pod):
            return True
        try:
            made = cluster_state.store.evict(pod.namespace, pod.name)
        except Conflict:
            return True
        except Refused as refused:
            cluster_state.note("eviction-refused", workload=pod.workload, pod=pod.name, why=str(refused))
            return False
        pod.leaving = why
        cluster_state.pod_changed(pod.uid)
        grace = 0.0
        if pod.is_bound:
            seconds = made["spec"].get("terminationGracePeriodSeconds")
            grace = cluster_state.timing.grace_s if seconds is None else float(seconds)
        cluster_state.n_pending -= pod.waits
        # This includes unbound pods: until they are gone, the scheduler would place them with their gang, and the node would reject them.
        pod.record = cluster_state.records.set_pod(replace(pod.record, status=RELEASING))
        self._stop_working(pod)
        cluster_state.events.plan(cluster_state.now + grace, PodGone(pod.uid))
        cluster_state.request_cycle()
        return True

    def is_leaving(self, pod: PodState) -> bool:
        """Return whether a pod needs no eviction; one that awaits its loss does once its failed node is ready again."""
        node = self._cluster_state.records.nodes.get(pod.record.node or "")
        has_returned = pod.leaving == ENDED_BY_NODE and node is not None and node.ready
        return bool(pod.leaving) and not has_returned

    def node_failed(self, node: str) -> None:
        """Stop the work of a failed node's pods, and delete them when their toleration expires."""
        cluster_state = self._cluster_state
        for uid in list(cluster_state.pods_on.get(node, ())):
            pod = cluster_state.pods[uid]
            if not pod.leaving:
                pod.leaving = ENDED_BY_NODE
                cluster_state.pod_changed(uid)
                self._stop_working(pod)
                cluster_state.events.plan(cluster_state.now + cluster_state.timing.node_lost_s, PodGone(uid))

    def _stop_working(self, pod: PodState) -> None:
        self._stops(pod)
        pod.is_ready = pod.runs = False

    def forget(self, uid: str, ended_by: str = "") -> PodState | None:
        """Remove a pod from the cluster, and return it; None if it is already gone."""
        cluster_state = self._cluster_state
        pod = cluster_state.pods.pop(uid, None)
        if pod is None:
            return None
        cluster_state.pod_changed(uid)
        if pod.is_ready or not pod.leaving:
            self._stop_working(pod)
        if pod.waits:
            cluster_state.n_pending -= 1
        if pod.is_bound:
            cluster_state.vacate(pod.record.node or "", uid, pod.record)
            cluster_state.history.end_stay(pod.name, cluster_state.elapsed_s, ended_by or pod.leaving)
        cluster_state.store.discard("Pod", pod.namespace, pod.name)
        cluster_state.records.drop_pod(pod.record)
        cluster_state.request_cycle()
        return pod
