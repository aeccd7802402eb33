"""kube-scheduler, which places the pods of native clusters, ACK and Kueue.

`pods.py` and `nodes.py` are its state, `profiles.py` is its configuration, `filters.py`, `topology_spread.py` and
`scores.py` are its plugins, `preemption.py` selects victims, and `scheduler.py` is its scheduling cycle.

Source: k8s.io/kubernetes v1.36.3, pkg/scheduler.
"""

from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts, pod_facts
from apportion_runtime.engines.kube_scheduler.profiles import Profile, read_profiles
from apportion_runtime.engines.kube_scheduler.scheduler import KubeScheduler

__all__ = ["KubeScheduler", "NodeState", "Nodes", "PodFacts", "Profile", "pod_facts", "read_profiles"]
