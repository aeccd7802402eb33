"""One module for each engine, and one for all of them: what keeps a workload from starting. `workloads.py` runs them."""
