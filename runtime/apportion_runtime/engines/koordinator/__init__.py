"""Koordinator: elastic quotas, gangs, preemption within a quota, and the revocation of pods above a runtime quota.

Pure parts: `division.py` divides an amount among sibling quotas, `quota_specs.py` reads ElasticQuotas, `quota_tree.py`
keeps their requests, usage and runtime, `configuration.py` reads the scheduler's ConfigMap. `gangs.py` has the gangs,
`scheduler.py` with `preemption.py` and `node_scores.py` schedules pods, `revocation.py` is the controller that evicts pods of
overused quotas, and `engine.py` is the interface to the simulation.

Source: koordinator-sh/koordinator at a7a1b76b (v1.8.0-61): pkg/scheduler/plugins/elasticquota and coscheduling.
"""
