"""What the nodes do with pods: start them, let them load, and give them their grace when they have to go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apportion_runtime.core.status import RELEASING, RUNNING
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.events import PodGone, PodReady, PodRuns
from apportion_runtime.sim.api.object_store import Conflict, Refused
from apportion_runtime.sim.history import ENDED_BY_NODE


class Kubelet:
    """The life of pods from their bind to their end.

    Args:
        cluster_state: What is simulated.
        startup_s: How long a pod loads before it works.
        ready: Told of a pod that begins to work.
        stops: Told of a pod that worked, or waited, and will not any more.
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
        """Give a pod its place; tell whether the cluster let it have that.

        Args:
            uid: The pod.
            node: Where it shall run.
            cpu: Millicores that it holds there.
            gpus: Devices that it holds there; parts of shared ones count.
            gpu_groups: The shared devices that it gets.
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
        # The engine counts a pod that is bound as one that runs.
        pod.record = cluster_state.records.set_pod(
            replace(pod.record, status=RUNNING, node=node, gpu_groups=gpu_groups, nominated_node=None)
        )
        pod.gpus = gpus
        pod.is_bound = True
        cluster_state.n_pending -= 1
        cluster_state.pods_on.setdefault(node, {})[pod.uid] = None
        cluster_state.history.begin_stay(
            pod.name, pod.workload, node, gpus=pod.gpus, cpu=cpu, at_s=cluster_state.elapsed_s, devices=gpu_groups
        )
        cluster_state.note("bound", workload=pod.workload, pod=pod.name, node=node, gpus=gpus, gpu_groups=gpu_groups)
        cluster_state.events.plan(cluster_state.now + cluster_state.timing.container_start_s, PodRuns(pod.uid))
        return True

    def run(self, uid: str) -> None:
        """The containers of a pod run."""
        cluster_state = self._cluster_state
        pod = cluster_state.pods.get(uid)
        if pod is None or pod.leaving:
            return
        pod.runs = True
        cluster_state.store.patch_status(
            "Pod", pod.namespace, pod.name, {"phase": "Running", "startTime": cluster_state.clock.text}
        )
        cluster_state.note("running", workload=pod.workload, pod=pod.name, node=pod.record.node or "")
        cluster_state.events.plan(cluster_state.now + self._startup_s(pod), PodReady(uid))

    def make_ready(self, uid: str) -> None:
        """A pod has loaded what it needs."""
        cluster_state = self._cluster_state
        pod = cluster_state.pods.get(uid)
        if pod is None or pod.leaving:
            return
        pod.is_ready = True
        ready = [{"type": "Ready", "status": "True", "lastTransitionTime": cluster_state.clock.text}]
        cluster_state.store.patch_status("Pod", pod.namespace, pod.name, {"conditions": ready})
        self._ready(pod)

    def stop(self, pod: PodState, why: str) -> bool:
        """Delete a pod: at once if it has no place, otherwise with its grace. Tell whether the cluster let it go."""
        cluster_state = self._cluster_state
        if pod.leaving:
            return True
        try:
            made = cluster_state.store.evict(pod.namespace, pod.name)
        except Conflict:
            return True
        except Refused as refused:
            cluster_state.note("eviction-refused", workload=pod.workload, pod=pod.name, why=str(refused))
            return False
        pod.leaving = why
        grace = 0.0
        if pod.is_bound:
            said = made["spec"].get("terminationGracePeriodSeconds")
            grace = cluster_state.timing.grace_s if said is None else float(said)
        # One without a place, too: until it is gone the scheduler would place it with its gang, and the node refuse it.
        pod.record = cluster_state.records.set_pod(replace(pod.record, status=RELEASING))
        self._stop_working(pod)
        cluster_state.events.plan(cluster_state.now + grace, PodGone(pod.uid))
        cluster_state.request_cycle()
        return True

    def node_failed(self, node: str) -> None:
        """The pods of a node that failed do nothing any more, and are deleted when they are given up."""
        cluster_state = self._cluster_state
        for uid in list(cluster_state.pods_on.get(node, ())):
            pod = cluster_state.pods[uid]
            if not pod.leaving:
                pod.leaving = ENDED_BY_NODE
                self._stop_working(pod)
                cluster_state.events.plan(cluster_state.now + cluster_state.timing.node_lost_s, PodGone(uid))

    def _stop_working(self, pod: PodState) -> None:
        self._stops(pod)
        pod.is_ready = pod.runs = False

    def forget(self, uid: str, ended_by: str = "") -> PodState | None:
        """Take a pod out of the cluster, and return it; None if it is gone already."""
        cluster_state = self._cluster_state
        pod = cluster_state.pods.pop(uid, None)
        if pod is None:
            return None
        if pod.is_ready or not pod.leaving:
            self._stop_working(pod)
        if pod.waits:
            cluster_state.n_pending -= 1
        if pod.is_bound:
            cluster_state.pods_on.get(pod.record.node or "", {}).pop(uid, None)
            cluster_state.history.end_stay(pod.name, cluster_state.elapsed_s, ended_by or pod.leaving)
        if cluster_state.store.get("Pod", pod.namespace, pod.name) is not None:
            cluster_state.store.delete("Pod", pod.namespace, pod.name)
        cluster_state.records.drop_pod(pod.record)
        cluster_state.request_cycle()
        return pod
