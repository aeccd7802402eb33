"""The engines of the embedded cluster: who decides about pods and workloads, one module or folder each.

`engine.py` says what an engine is, `engine_detection.py` which one a cluster has. Engines share what Kubernetes itself does
(`kube_scheduler/`, `gangs.py`), and never each other's rules.
"""
