"""The scheduler's cycle against a real Kubernetes API: objects are watched, pods bound and evicted.

`scheduler.py` runs one scheduling cycle; read it first; `cluster.py` is what it asks of a cluster, `mirror.py` and
`connection.py` are the real one. What decides is `apportion_runtime.core`, as in the simulated cluster. Not done here:
sharing a GPU between pods, and devices of resource claims, which need an agent on the node; such pods are told so.
"""
