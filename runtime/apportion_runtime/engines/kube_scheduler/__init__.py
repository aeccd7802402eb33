"""The plain kube-scheduler: the engines of native clusters, ACK and Kueue place their pods with it.

`pods.py` and `nodes.py` are what it knows, `profiles.py` how it is configured, `filters.py`, `topology_spread.py` and
`scores.py` its plugins, `preemption.py` whom it evicts, and `scheduler.py` its scheduling cycle.

Source: k8s.io/kubernetes v1.36.3, pkg/scheduler.
"""

from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts, pod_facts
from apportion_runtime.engines.kube_scheduler.profiles import Profile, read_profiles
from apportion_runtime.engines.kube_scheduler.scheduler import KubeScheduler

__all__ = ["KubeScheduler", "NodeState", "Nodes", "PodFacts", "Profile", "pod_facts", "read_profiles"]
