"""The schedulers that a simulation can run, one folder each.

`registry.py` lists them, and `detection.py` detects the engine of a cluster from its objects. `base/` and `kube_scheduler/` are
shared; no engine imports another. `sim/engine.py` defines the protocol between the simulation and an engine.
"""
