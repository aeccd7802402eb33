"""Invalid policies: the checker rejects each marked line with the given error code."""

from __future__ import annotations

from apportion_policy import Cluster, NodePool, Organisation, Policy, Queue, Resources, collect

Queue()  # E: call-arg
Queue(id="a", colour="red")  # E: call-arg
Queue(id=3)  # E: arg-type
Queue(id="a", parent=NodePool(id="p", max_nodes=1))  # E: arg-type
Queue(id="a", guaranteed={"gpu": 8})  # E: arg-type
Resources(cpu=[1])  # E: arg-type
Resources(gpu={"h100": [8]})  # E: dict-item
Cluster(name="c", engine="kai", engine_version="0.17.0")  # E: arg-type
Policy(organisation="acme")  # E: arg-type
Policy(organisation=Organisation(name="acme"), queues=("a",))  # E: arg-type
Queue(id="a").id = "b"  # E: misc
collect("teams", str)  # E: type-var
