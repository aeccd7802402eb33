"""The embedded cluster: the scheduler's own cycle against objects that are held here and a clock that jumps.

Entry point: `cluster.Cluster`. It reaches no real cluster and reads no real clock; chance comes from a seed alone.
"""
