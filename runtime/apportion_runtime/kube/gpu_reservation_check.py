"""Whether the API server accepts reservation pods: asked by a dry run before the first pod that shares a device.

Otherwise other pods would be evicted for pods that cannot be bound. A dry run shows that the namespace and the service
account exist and that this scheduler may create pods there; not whether the pod's process works.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from apportion_runtime.kube.cluster import Cluster
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.gpu_reservation import ReservationSettings, reservation_pod

_FIRST_S, _LONGEST_S = 5.0, 60.0
"""The times after which a failed check is repeated: the first, which doubles with each rejection, and the longest."""
_ANY, _NAMESPACE = "check", "Namespace"


class ReservationCheck:
    """The result of the last check; a failed one is repeated after some time, or as soon as the namespace was created.

    Args:
        settings: The settings of reservation pods.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, settings: ReservationSettings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._is_passed = False
        self._why = ""
        self._until_s: float | None = None
        self._rejected_s = _FIRST_S
        self._namespace: str | None = None
        self._is_repeated = False

    def fault(self, cluster: Cluster) -> str | None:
        """Return why reservation pods cannot be created, as a clause; None if they can.

        Raises:
            NotLeader: If this scheduler lost its lease.
        """
        namespace = self._uid_of_namespace(cluster)
        if namespace != self._namespace:
            self._is_passed = False
            if namespace is not None:
                # The service account may be created after the namespace.
                self._until_s, self._rejected_s = None, _FIRST_S
        self._namespace = namespace
        if self._is_passed:
            return None
        self._is_repeated = self._until_s is not None and self._clock() < self._until_s
        if self._is_repeated:
            return self._why
        try:
            cluster.create(reservation_pod(self._settings, _ANY, _ANY), dry_run=True)
        except Unreachable as unreachable:
            return self._failed(unreachable)
        except Refused as refused:
            if refused.rejection is Rejection.TEMPORARY:
                return self._failed(refused)
            # A webhook with side effects prevents every dry run, and an existing pod has passed.
            if refused.status != HTTPStatus.BAD_REQUEST and refused.rejection is not Rejection.CONFLICT:
                return self._rejected(refused)
        self._is_passed, self._until_s = True, None
        return None

    def remaining_s(self) -> float | None:
        """Return the time until a failed check must be repeated; None if it need not be.

        It is zero if the time has come since the last failure was returned again.
        """
        if self._until_s is None:
            return None
        remaining_s = self._until_s - self._clock()
        if remaining_s > 0:
            return remaining_s
        is_due, self._is_repeated = self._is_repeated, False
        return 0.0 if is_due else None

    def _uid_of_namespace(self, cluster: Cluster) -> str | None:
        """Return the UID of the namespace of reservation pods; None if the cluster has none."""
        namespace = cluster.get(_NAMESPACE, "", self._settings.namespace)
        return None if namespace is None else str(namespace["metadata"].get("uid", ""))

    def _failed(self, failed: Exception) -> str:
        self._until_s = self._clock() + _FIRST_S
        self._why = f"cannot check whether the API server accepts reservation pods: {failed}"
        return self._why

    def _rejected(self, refused: Refused) -> str:
        self._until_s = self._clock() + self._rejected_s
        self._rejected_s = min(2 * self._rejected_s, _LONGEST_S)
        self._why = (
            f"the API server does not accept reservation pods in namespace {self._settings.namespace}: {refused}"
        )
        return self._why
