"""Rules on workloads that never start: one module for each engine, and one for all. `workloads.py` runs them."""
