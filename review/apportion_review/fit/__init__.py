"""Would a workload fit: the decision of the engine, the largest that starts now, and changes that let it start."""
