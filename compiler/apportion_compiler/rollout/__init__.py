"""The order in which a cluster's objects are updated, so that its engine accepts every step.

Pure: takes former and wanted objects, returns a plan. `waves.py` orders the queues by the model of the engine
(`models.py`); `plan.py` converts the order to successive states, each with its dependencies. Start with `plan.py`.
"""
