"""The scheduler's cycle against a real Kubernetes API: objects are watched, pods bound and evicted.

`scheduler.py` runs one scheduling cycle; read it first. `cluster.py` is its interface to a cluster, which `object_cache.py`
and `connection.py` implement. `apportion_runtime.core` makes the decisions, as in the simulated cluster. Not
supported: shared GPUs and resource claims, which require an agent on the node; such pods get a condition with this
reason.
"""
