"""The nodes of a simulated cluster: their objects and GPUs, pod startup and deletion, and eviction."""
