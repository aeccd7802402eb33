"""Volcano: gangs, the queue tree of its capacity plugin, and the actions that its ConfigMap enables.

`configuration.py` is its ConfigMap, `capacity.py` its queues, `jobs.py` and `pod_groups.py` what is queued,
`session.py` one cycle with what may be taken back, `allocation_actions.py` and `eviction_actions.py` its actions,
`engine.py` the whole.

Source: github.com/volcano-sh/volcano at ed72c7c8 (2026-08-20): pkg/scheduler, pkg/controllers/podgroup.
"""
