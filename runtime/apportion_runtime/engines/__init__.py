"""The schedulers that a simulation can run, one folder each.

`detection.py` registers them and tells from a cluster's objects which one it runs. `base/` and `kube_scheduler/` hold what
they share; no engine imports another. What the simulation calls on an engine is the protocol in `sim/engine.py`.
"""
