"""From workloads to what the scheduler decides about: their pods, and the pod groups that hold these.

It knows the objects of Kubernetes as plain dictionaries and reaches no cluster; who keeps the objects is its caller.
"""
