"""Fit of a workload: the decision of the engine, the largest size that starts now, and changes that let it start."""
