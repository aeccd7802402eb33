"""The nodes of a simulated cluster: their objects and GPUs, starting and deleting pods there, and eviction."""
