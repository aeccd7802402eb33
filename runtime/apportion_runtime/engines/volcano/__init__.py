"""Volcano: gangs, the queue tree of its capacity plugin, and the actions that its ConfigMap enables.

`configuration.py` reads its ConfigMap, `capacity.py` has its queues, `jobs.py` and `pod_groups.py` its jobs,
`session.py` the state of a cycle with decisions that may be discarded, `allocation_actions.py` and
`eviction_actions.py` its actions, and `engine.py` is the interface to the simulation.

Source: github.com/volcano-sh/volcano at ed72c7c8 (2026-08-20): pkg/scheduler, pkg/controllers/podgroup.
"""
