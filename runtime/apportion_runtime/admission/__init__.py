"""Expansion of workloads to the objects that the scheduler places: pods and pod groups.

Kubernetes objects are plain dictionaries; the caller stores them, and no cluster is accessed.
"""
